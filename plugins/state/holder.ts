import { readFile, readlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { z } from 'zod'

/** Who holds a lock, so that others can tell whether that process is still there. */
export const Holder = z.object({
  pid: z.int().positive(),
  /** Where this process id means something: the machine, and on Linux the boot and the process namespace. */
  where: z.string(),
  /** When the process started, for a process id that was given out again. */
  started: z.string(),
})

export type Holder = z.output<typeof Holder>

export async function thisProcess(): Promise<Holder> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
  const space = await readlink('/proc/self/ns/pid').catch(() => '')
  const { pid } = process
  return { pid, where: [hostname(), boot.trim(), space].join(' '), started: await startOf(pid) }
}

/** Whether that process has ended for sure. Where nobody can tell, the answer is no, and time has to show. */
export async function isGone({ pid, where, started }: Holder, own: Holder): Promise<boolean> {
  if (where !== own.where) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Another error means that it is there and belongs to somebody else.
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
  return (await startOf(pid)) !== started
}

/** Ticks since the boot, on Linux. Elsewhere nothing, which is equal for all. */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name of the program stands in brackets and may hold anything, brackets too.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}
