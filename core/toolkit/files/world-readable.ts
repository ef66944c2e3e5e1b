import { statSync } from 'node:fs'
import type { BaseLogger } from 'pino'

const readableByOthers = 0o004

/** Warns when everybody on this machine may read a file that holds a secret. */
export function warnIfWorldReadable(path: string, log: Pick<BaseLogger, 'warn'> | undefined): void {
  // The mode that Windows reports says nothing about who may read.
  if (process.platform === 'win32') return
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & readableByOthers) !== 0)
    log?.warn({ path }, 'secret file is readable by everybody on this machine')
}
