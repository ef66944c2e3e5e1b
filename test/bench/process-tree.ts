import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** A process and all that it has started, by their ids. */
export function treeOf(pid: number): number[] {
  const text = readOf(`/proc/${pid}/task/${pid}/children`)
  const children = text.split(' ').filter((id) => id.trim() !== '')
  return [pid, ...children.flatMap((id) => treeOf(Number(id)))]
}

/** Seconds of processor time that a process used, with its children, those that have ended too. */
export function cpuSeconds(pid: number): number {
  let ticks = 0
  for (const id of treeOf(pid)) {
    // The second field is a name in brackets that may hold spaces; utime, stime, cutime and cstime are the 14th to 17th.
    const fields = readOf(`/proc/${id}/stat`).split(') ')[1]?.split(' ') ?? []
    for (const field of fields.slice(11, 15)) ticks += Number(field)
  }
  return ticks / ticksPerSecond
}

/** Without its children, but exactly: for times that are short. */
export function ownCpuSeconds(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`)
  const times = tasks.map((task) => Number(readOf(`/proc/${pid}/task/${task}/schedstat`).split(' ', 1)[0]))
  return times.reduce((sum, one) => sum + one, 0) / 1e9
}

/** Bytes of memory that a process and its children hold. What they share is counted for each. */
export function memory(pid: number): number {
  const kilobytes = treeOf(pid).map((id) =>
    Number(/^VmRSS:\s+(\d+)/m.exec(readOf(`/proc/${id}/status`))?.[1] ?? 0),
  )
  return kilobytes.reduce((sum, one) => sum + one, 0) * 1024
}

/** The text of a file, or none when its process has ended since it was listed. */
function readOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
