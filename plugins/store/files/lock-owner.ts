import { readFile, readlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { z } from 'zod'

/** The process that holds a lock, so that others can tell whether it still runs. */
const LockOwner = z.object({
  pid: z.int32().positive(),
  /** The scope of the process ID: the machine, and on Linux the boot and the PID namespace. */
  where: z.string(),
  /** When the process started, to recognize a reused process ID. */
  started: z.string(),
  /** Identifies the lock in that process. */
  mark: z.string().optional(),
})

export type LockOwner = z.output<typeof LockOwner>

/** The owner in a lock file; `undefined` for any other content. */
export function parseLockOwner(text: string): LockOwner | undefined {
  try {
    return LockOwner.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

export async function thisProcess(): Promise<LockOwner> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
  const namespace = await readlink('/proc/self/ns/pid').catch(() => '')
  const { pid } = process
  const started = (await startTimeOf(pid)) ?? ''
  return { pid, where: [hostname(), boot.trim(), namespace].join(' '), started }
}

/** Whether that process has certainly exited. `false` where that is unknown: the lock then becomes stale by time. */
export async function hasExited({ pid, where, started }: LockOwner, self: LockOwner): Promise<boolean> {
  if (where !== self.where) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Any other error means that it runs as another user.
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
  const running = await startTimeOf(pid)
  return started !== '' && running !== undefined && running !== started
}

/** Whether that process certainly runs. */
export async function isRunning({ pid, where, started }: LockOwner, self: LockOwner): Promise<boolean> {
  return where === self.where && started !== '' && (await startTimeOf(pid)) === started
}

/** Ticks since the boot. `undefined` where that is unknown: not on Linux, or while no more files may be open. */
async function startTimeOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (stat === undefined) return undefined
  // The name of the program is in brackets and may contain brackets itself.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // What was killed, and whose parent has not asked for its end, runs no more.
  return fields[0] === 'Z' ? '' : (fields[19] ?? '')
}
