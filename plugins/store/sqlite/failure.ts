/** Why a database is unusable. Plain data, since it comes from a thread. */
export interface Failure {
  readonly reason: string
  /** `disk`: the failure may pass by itself, such as a full disk. `refused`: a person has to act. */
  readonly kind: 'disk' | 'refused' | 'fault'
}

/** A fault that a person has to mend before this database is usable. */
export class Unusable extends Error {}

const DAMAGED = 'it is damaged: restore it from a backup, or move it and its `-wal` away to begin anew'

// The primary result codes of SQLite.
const SQLITE: Readonly<Record<number, Failure>> = {
  5: { kind: 'disk', reason: 'another process has it locked for long' },
  8: { kind: 'disk', reason: 'it can only be read' },
  10: { kind: 'disk', reason: 'the disk fails' },
  11: { kind: 'refused', reason: DAMAGED },
  13: { kind: 'disk', reason: 'the disk is full' },
  14: { kind: 'disk', reason: 'it cannot be opened' },
  26: { kind: 'refused', reason: 'it is damaged, or no database: move it away to begin anew' },
}

const SYSTEM: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the disk is read-only',
  EACCES: 'this user has no right to it',
}

export const damaged = (): Unusable => new Unusable(DAMAGED)

/** The primary result code, if the error comes from SQLite. */
export const resultCode = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : undefined

export function failureOf(error: unknown): Failure {
  if (error instanceof Unusable) return { kind: 'refused', reason: error.message }
  if (!(error instanceof Error)) return { kind: 'fault', reason: String(error) }
  const code = resultCode(error)
  const known = code === undefined ? undefined : SQLITE[code]
  if (known !== undefined) return known
  if ('syscall' in error && 'code' in error) {
    const system = String(error.code)
    return { kind: 'disk', reason: SYSTEM[system] === undefined ? system : `${SYSTEM[system]} (${system})` }
  }
  return { kind: 'fault', reason: error.message }
}
