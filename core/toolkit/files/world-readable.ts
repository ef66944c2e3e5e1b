import { statSync } from 'node:fs'
import type { BaseLogger } from 'pino'

const readableByOthers = 0o004

/** Warns when every user of this machine may read a file that holds a secret. */
export function warnIfWorldReadable(path: string, log: Pick<BaseLogger, 'warn'> | undefined): void {
  // The mode that Windows reports does not say which users may read.
  if (process.platform === 'win32') return
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & readableByOthers) !== 0)
    log?.warn({ path }, 'every user of this machine can read a secret file')
}
