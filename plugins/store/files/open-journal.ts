import { stat } from 'node:fs/promises'
import { ConfigError, type Log } from 'sallyport'
import { fileFailure, messageOf } from 'sallyport/toolkit'
import { isFileSystemError, replaceFile } from './atomic-file.js'
import { GenerationLock, type HeldLock, type HeldLocks } from './generation-lock.js'
import { JournalFile } from './journal-file.js'
import { lineOf, parseChange, parseHeading } from './journal-line.js'
import { type LockOwner, thisProcess } from './lock-owner.js'
import { PublicationIndex } from './publication-index.js'

/** A journal that this process alone may write to, and what it says. */
export interface OpenJournal {
  readonly file: JournalFile
  readonly lock: HeldLock
  readonly index: PublicationIndex
}

/** Throws a `ConfigError` where another process has it open, where it is damaged, and where it cannot be used. */
export async function openJournal(
  path: string,
  source: string,
  { locks, log }: { readonly locks: HeldLocks; readonly log: Pick<Log, 'warn'> },
): Promise<OpenJournal> {
  const closing: (() => Promise<void>)[] = []
  try {
    const lock = await new GenerationLock(`${path}.lock`, await thisProcess(), locks, log).acquire((owner) =>
      inUse(path, owner),
    )
    closing.push(() => lock.release())
    const marker = `${path}.created`
    const wasThere = await isThere(marker)
    if (wasThere && !(await isThere(path))) throw gone(path, marker)
    const file = await JournalFile.open(path)
    closing.push(() => file.close())
    const index = await replayed(file, source, wasThere ? marker : undefined)
    await replaceFile(marker, MARKED)
    const cut = await file.cutRest()
    if (cut > 0) log.warn({ path, bytes: cut }, 'an incomplete last line was cut off: nobody was told of it')
    warnOfFuture(index.lastAt, log)
    return { file, lock, index }
  } catch (error) {
    for (const close of closing.toReversed()) await close()
    if (error instanceof ConfigError) throw error
    if (isFileSystemError(error) && NO_ROOM.includes(error.code ?? '')) {
      throw new Error(`${path}: ${fileFailure(error)}`, { cause: error })
    }
    const message = `the journal of what is published cannot be used: ${messageOf(error)}`
    throw new ConfigError([{ place: path, message }], { cause: error })
  }
}

// A supervisor tries again after a failure, and not after a wrong configuration.
const NO_ROOM: readonly string[] = ['ENOSPC', 'EDQUOT']

/** `marker`: the file that says that it has lines. */
async function replayed(
  file: JournalFile,
  source: string,
  marker: string | undefined,
): Promise<PublicationIndex> {
  const index = new PublicationIndex()
  let number = 0
  for await (const { line, start } of file.lines()) {
    number++
    const fault = number === 1 ? headingFault(line, source) : changeFault(line, start, index)
    if (fault !== undefined) throw damaged(file.path, number, fault)
  }
  if (number === 0 && marker !== undefined) throw gone(file.path, marker)
  if (number === 0) await file.append(lineOf({ format: 1, source }))
  return index
}

const CHECKSUM = 'its checksum does not fit'

function headingFault(line: Buffer, source: string): string | undefined {
  const heading = parseHeading(line)
  if (heading === undefined) return CHECKSUM
  return heading.source === source ? undefined : 'it is the journal of another source'
}

function changeFault(line: Buffer, start: number, index: PublicationIndex): string | undefined {
  const change = parseChange(line)
  return change === undefined ? CHECKSUM : index.add(change, { start, length: line.length })
}

/** Milliseconds by which clocks may differ. */
const AHEAD = 60_000

/** Says that the dates of changes are not those of the clock: none is before the one before it. */
export function warnOfFuture(lastAt: string, log: Pick<Log, 'warn'>): void {
  if (lastAt === '' || Date.parse(lastAt) - Date.now() <= AHEAD) return
  log.warn({ at: lastAt }, 'the last change is dated in the future, and later ones get its date until then')
}

const MARKED =
  'There is a journal beside this file. Without it, the start is refused while this file is there.\n'

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )

const gone = (path: string, marker: string): ConfigError =>
  new ConfigError([
    {
      place: path,
      message: `the journal of what is published is gone or empty, and ${marker} says that there was one: put it back, or restore it from a backup; where it is meant to begin anew, remove ${marker} too`,
    },
  ])

const damaged = (path: string, line: number, fault: string): ConfigError =>
  new ConfigError([
    {
      place: `${path}:${line}`,
      message: `the journal of what is published is damaged in line ${line}: ${fault}; restore it from a backup, or move it away, and remove ${path}.created, to begin anew; nothing of it was changed`,
    },
  ])

// `where` begins with the name of the machine.
const inUse = (path: string, { pid, where }: LockOwner): ConfigError =>
  new ConfigError([
    {
      place: path,
      message: `process ${pid} on ${where.split(' ')[0]} publishes here already: end it, give this one another directory, or use \`store/postgres\`, which several share`,
    },
  ])
