import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { onCore, SERVED } from './cores.js'
import { root } from './place.js'
import { treeOf } from './process-tree.js'

/** A server under measurement, in a process of its own. */
export interface Contestant {
  readonly name: string
  readonly port: number
  readonly pid: number
  /** Answers the exit code; none when it had to be killed. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

interface Surroundings {
  /** Its number, or a list of them as taskset reads it. */
  readonly core?: number | string
  readonly environment?: Readonly<Record<string, string>>
  /** Where its log goes, when that is not read here. */
  readonly stderr?: number | 'pipe'
}

/** Milliseconds that a server has to come up, or to end. */
const PATIENCE = 15_000

/** Starts a program of this runtime; it is ready when its first line on stdout tells its address. */
export async function announced(
  name: string,
  argv: readonly string[],
  surroundings: Surroundings = {},
): Promise<Contestant> {
  const child = begun([process.execPath, ...argv], surroundings)
  const text = await new Promise<string>((resolve, reject) => {
    let [told, complaints] = ['', '']
    child.stderr?.on('data', (chunk) => {
      complaints = (complaints + String(chunk)).slice(-2000)
    })
    child.stdout?.on('data', (chunk) => {
      told += String(chunk)
      if (/https?:\/\/\S+\s/.test(told)) resolve(told)
    })
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}\n${complaints}`)))
  })
  return contestant(name, Number(/https?:\/\/[^:]+:(\d+)/.exec(text)?.[1]), child)
}

/** Starts a program on the core that is measured; it is ready when it takes connections on the port. */
export async function listening(name: string, port: number, argv: readonly string[]): Promise<Contestant> {
  const child = begun(argv)
  let complaints = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      complaints = (complaints + String(chunk)).slice(-2000)
    })
  }
  const end = performance.now() + PATIENCE
  while (!(await accepts(port))) {
    if (child.exitCode !== null || performance.now() > end) {
      killTree(child)
      throw new Error(`${name} did not come up\n${complaints}`)
    }
    await pause(20)
  }
  return contestant(name, port, child)
}

function begun(
  argv: readonly string[],
  { core = SERVED, environment = {}, stderr = 'pipe' }: Surroundings = {},
): ChildProcess {
  const [command = '', ...rest] = onCore(core, argv)
  const child = spawn(command, rest, {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', stderr],
  })
  living.add(child)
  child.once('exit', () => living.delete(child))
  return child
}

const living = new Set<ChildProcess>()

/** For a run that is broken off. */
export function endAll(): void {
  for (const child of living) killTree(child)
}

/** With its children: a server's workers outlive a server that is killed. */
function killTree({ pid }: ChildProcess): void {
  for (const id of pid === undefined ? [] : treeOf(pid)) {
    try {
      process.kill(id, 'SIGKILL')
    } catch (error) {
      // It has ended since it was listed.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

function contestant(name: string, port: number, child: ChildProcess): Contestant {
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
    const ended = once(child, 'exit')
    child.kill(signal)
    const late = setTimeout(() => killTree(child), PATIENCE)
    await ended
    clearTimeout(late)
    return child.exitCode
  }
  return { name, port, pid: child.pid ?? 0, stop }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const told = (answer: boolean) => () => {
      socket.destroy()
      resolve(answer)
    }
    socket.on('connect', told(true)).on('error', told(false))
  })
}
