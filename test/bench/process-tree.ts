import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** The ids of a process and of all its descendants. */
export function treeOf(pid: number): number[] {
  const text = readOf(`/proc/${pid}/task/${pid}/children`)
  const children = text.split(' ').filter((id) => id.trim() !== '')
  return [pid, ...children.flatMap((id) => treeOf(Number(id)))]
}

/** Seconds of processor time of a process and its children, ended ones too. */
export function cpuSeconds(pid: number): number {
  let ticks = 0
  for (const id of treeOf(pid)) {
    // The second field is a name in brackets that may hold spaces; utime, stime, cutime and cstime are the 14th to
    // 17th.
    const fields = readOf(`/proc/${id}/stat`).split(') ')[1]?.split(' ') ?? []
    for (const field of fields.slice(11, 15)) ticks += Number(field)
  }
  return ticks / ticksPerSecond
}

/** Seconds of processor time of a process without its children, exact enough for short times. */
export function ownCpuSeconds(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`)
  const times = tasks.map((task) => Number(readOf(`/proc/${pid}/task/${task}/schedstat`).split(' ', 1)[0]))
  return times.reduce((sum, one) => sum + one, 0) / 1e9
}

/** Bytes of memory of a process and its children. Shared memory counts for each of them. */
export function memory(pid: number): number {
  const kilobytes = treeOf(pid).map((id) =>
    Number(/^VmRSS:\s+(\d+)/m.exec(readOf(`/proc/${id}/status`))?.[1] ?? 0),
  )
  return kilobytes.reduce((sum, one) => sum + one, 0) * 1024
}

/** The text of a file, or '' when its process has ended since it was listed. */
function readOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
