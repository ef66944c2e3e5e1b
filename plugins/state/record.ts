import { readFile } from 'node:fs/promises'
import { jsonObject } from 'sallyport/toolkit'
import { z } from 'zod'
import { EncryptedValue } from './encrypted-value.js'

/** The content of a file. A later version may add fields. */
const record = z.looseObject({ format: z.literal(1), key: z.string(), value: z.string() })
// The key of a file with another format.
const anyRecord = z.looseObject({ key: z.string() })

/** The parsed content of a file. */
export type Record =
  | { readonly is: 'plain'; readonly key: string; readonly value: string }
  | { readonly is: 'encrypted'; readonly key: string; readonly value: EncryptedValue }
  | { readonly is: 'unreadable'; readonly key?: string; readonly reason: string }

export function parseRecord(text: string): Record {
  const { success, data } = record.safeParse(jsonObject(text))
  if (!success) {
    const { key } = anyRecord.safeParse(jsonObject(text)).data ?? {}
    return {
      is: 'unreadable',
      ...(key !== undefined && { key }),
      reason: 'its format is unknown to this version',
    }
  }
  const { key, value } = data
  if (data['sealed'] !== true) return { is: 'plain', key, value }
  const encrypted = EncryptedValue.safeParse(jsonObject(value))
  if (encrypted.success) return { is: 'encrypted', key, value: encrypted.data }
  return { is: 'unreadable', key, reason: 'its encryption is unknown to this version' }
}

export const plainRecord = (key: string, value: string): string => recordText({ key, value })

export const encryptedRecord = (key: string, value: EncryptedValue): string =>
  recordText({ key, value: JSON.stringify(value), sealed: true })

const recordText = (fields: object): string => `${JSON.stringify({ format: 1, ...fields })}\n`

/** `undefined` when there is no such file. */
export async function readIfExists(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}
