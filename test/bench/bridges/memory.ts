import { readFileSync } from 'node:fs'

/** Bytes of memory of a process and its descendants. Shared memory counts for each of them. */
export function memoryOfTree(pid: number): number {
  const resident = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.reduce((sum, child) => sum + memoryOfTree(Number(child)), Number(resident) * 1024)
}
