import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const NAME = /^sallyport-git-([0-9a-z]+)-\w+$/
// Milliseconds of tolerance for the clocks of several machines on one volume.
const CLOCK_SKEW = 3_600_000

// The input of this command ends when the gateway process ends, also by a kill. Git may still be writing then.
const CLEANUP = `
trap '' TERM INT HUP
while read -r _; do :; done
rm -rf -- "$1" 2>/dev/null || { sleep 1; rm -rf -- "$1"; }
`

/** A temporary folder for one read of a repository, removed afterwards, also when this process is killed. */
export class TemporaryFolder {
  private constructor(
    readonly path: string,
    private readonly release: () => Promise<void>,
  ) {}

  /** `maxAge`: milliseconds until it may be removed as abandoned. */
  static async open(maxAge: number): Promise<TemporaryFolder> {
    await removeAbandoned()
    const until = (Date.now() + maxAge + CLOCK_SKEW).toString(36)
    const path = await mkdtemp(join(tmpdir(), `sallyport-git-${until}-`))
    if (process.platform === 'win32') return new TemporaryFolder(path, async () => {})
    const cleanup: ChildProcess = spawn('/bin/sh', ['-c', CLEANUP, 'sallyport-cleanup', path], {
      cwd: '/',
      env: { PATH: process.env['PATH'] },
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    // The command may fail to start. When the process may open no more files, the command has no input either.
    const exited = once(cleanup, 'exit').catch(() => {})
    cleanup.stdin?.on('error', () => {})
    return new TemporaryFolder(path, async () => {
      cleanup.stdin?.end()
      await exited
    })
  }

  async close(): Promise<void> {
    await this.release()
    await rm(this.path, { recursive: true, force: true })
  }
}

/** Removes the folders that a crashed machine left: their names have the time after which they are abandoned. */
async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const until = NAME.exec(name)?.[1]
    if (until === undefined || Number.parseInt(until, 36) > Date.now()) continue
    // Another gateway may be removing it, or it may belong to another user.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {})
  }
}
