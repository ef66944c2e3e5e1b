import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** A server under measurement, in a process of its own. */
export interface Contestant {
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly process: ChildProcess
}

/** Starts a command that tells its address in its first line on stdout. */
export async function started(
  name: string,
  argv: readonly string[],
  { path = '', headers = {}, environment = {} } = {} as {
    path?: string
    headers?: Readonly<Record<string, string>>
    environment?: Readonly<Record<string, string>>
  },
): Promise<Contestant> {
  const child = spawn(process.execPath, argv, {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += String(chunk)
  })
  while (!/http:\/\/\S+/.test(text)) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`)
    await once(child.stdout, 'data')
  }
  return { name, url: `${/http:\/\/[^\s)]+/.exec(text)?.[0]}${path}`, headers, process: child }
}

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** Seconds of processor time that a process has used. */
export function cpuSeconds({ process: { pid } }: Contestant): number {
  // The second field is a name in brackets that may hold spaces; utime and stime are the 14th and 15th.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** Megabytes of memory that a process holds. */
export function memory({ process: { pid } }: Contestant): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}
