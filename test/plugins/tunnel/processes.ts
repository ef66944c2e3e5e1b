import { execFileSync } from 'node:child_process'
import { eventually } from '#kit/captured-log.js'

interface Process {
  readonly pid: number
  readonly command: string
}

/** The processes whose command line contains this text, without zombies. */
export function running(mark: string): Process[] {
  return execFileSync('ps', ['-A', '-ww', '-o', 'pid=,stat=,args='], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => {
      const [, pid, state = '', command = ''] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
      return command.includes(mark) && !state.startsWith('Z') ? [{ pid: Number(pid), command }] : []
    })
}

/** The child processes, and their children. */
export function descendants(parent: number): number[] {
  const children = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, above]) => above === parent)
    .map(([pid = 0]) => pid)
  return children.flatMap((pid) => [pid, ...descendants(pid)])
}

/** Ends processes that a failed test left. */
export function endAll(mark: string): void {
  for (const { pid } of running(mark)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has ended by itself meanwhile.
    }
  }
}

/** Resolves when there is no such process. */
export const gone = (mark: string): Promise<true> =>
  eventually(() => (running(mark).length === 0 ? true : undefined))
