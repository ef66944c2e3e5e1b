import type { StoredContents } from 'sallyport'
import { within } from 'sallyport/toolkit'
import { type Database, READ_LIMIT, type Statements } from '../database/database.js'
import { tooSlow } from '../database/failure.js'

type Read = (statements: Statements) => Promise<StoredContents | undefined>

/** For all documents of a source; a single statement has less. */
export const CONTENTS_LIMIT = 120_000

/**
 * Contents whose payloads are read in a transaction: it is open until the last of them, and no longer than their reader
 * takes. Throws when the database does not answer in time; waiting for other reads to end is no part of that.
 */
export async function openContents(
  database: Database,
  read: Read,
  signal: AbortSignal,
): Promise<StoredContents | undefined> {
  const giveUp = new AbortController()
  const late = (): Error => {
    const error = tooSlow()
    giveUp.abort(error)
    return error
  }
  const limits = { snapshot: true, limit: CONTENTS_LIMIT, signal: AbortSignal.any([signal, giveUp.signal]) }
  await database.longReads.begin(signal)
  const opened = new Promise<StoredContents | undefined>((resolve, reject) => {
    const work = async (statements: Statements): Promise<void> => {
      const contents = await read(statements)
      if (contents === undefined || Array.isArray(contents.payloads)) return resolve(contents)
      const { payloads, ended } = withEnd(contents.payloads)
      resolve({ ...contents, payloads })
      await within(CONTENTS_LIMIT, ended, late, limits.signal)
    }
    database
      .transaction(work, limits)
      .catch(reject)
      .finally(() => database.longReads.end())
  })
  return within(READ_LIMIT, opened, late, signal).catch((error: unknown) => {
    if (!signal.aborted) database.longReads.fail(error)
    throw error
  })
}

function withEnd(payloads: StoredContents['payloads']) {
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const each = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* payloads
    } finally {
      end()
    }
  }
  return { payloads: each(), ended }
}
