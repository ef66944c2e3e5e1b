import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { onCore, SERVER_CORE } from './cores.js'
import { root } from './paths.js'
import { treeOf } from './process-tree.js'

/** A server that the bench measures, in a process of its own. */
export interface Contestant {
  readonly name: string
  readonly port: number
  readonly pid: number
  /** Resolves with the exit code, or with `null` when it had to be killed. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

interface StartOptions {
  /** The number of its core, or a list of cores as taskset reads it. */
  readonly core?: number | string
  readonly environment?: Readonly<Record<string, string>>
  /** The file descriptor for its log, when this process does not read it. */
  readonly stderr?: number | 'pipe'
}

/** Milliseconds for a server to start, or to end. */
const START_TIMEOUT = 15_000

/** Starts a program of this runtime. It is ready when its first line on stdout shows its address. */
export async function startAnnounced(
  name: string,
  argv: readonly string[],
  options: StartOptions = {},
): Promise<Contestant> {
  const child = spawnPinned([process.execPath, ...argv], options)
  const text = await new Promise<string>((resolve, reject) => {
    let [output, errors] = ['', '']
    child.stderr?.on('data', (chunk) => {
      errors = (errors + String(chunk)).slice(-2000)
    })
    child.stdout?.on('data', (chunk) => {
      output += String(chunk)
      if (/https?:\/\/\S+\s/.test(output)) resolve(output)
    })
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}\n${errors}`)))
  })
  return contestant(name, Number(/https?:\/\/[^:]+:(\d+)/.exec(text)?.[1]), child)
}

/** Starts a program on the measured core. It is ready when it accepts connections on the port. */
export async function startOnPort(name: string, port: number, argv: readonly string[]): Promise<Contestant> {
  const child = spawnPinned(argv)
  let errors = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      errors = (errors + String(chunk)).slice(-2000)
    })
  }
  const end = performance.now() + START_TIMEOUT
  while (!(await accepts(port))) {
    if (child.exitCode !== null || performance.now() > end) {
      killTree(child)
      throw new Error(`${name} did not start\n${errors}`)
    }
    await pause(20)
  }
  return contestant(name, port, child)
}

function spawnPinned(
  argv: readonly string[],
  { core = SERVER_CORE, environment = {}, stderr = 'pipe' }: StartOptions = {},
): ChildProcess {
  const [command = '', ...rest] = onCore(core, argv)
  const child = spawn(command, rest, {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', stderr],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

const running = new Set<ChildProcess>()

/** Ends all programs of a run that is interrupted. */
export function endAll(): void {
  for (const child of running) killTree(child)
}

/** Kills a process with its children: the workers of a killed server live on. */
function killTree({ pid }: ChildProcess): void {
  for (const id of pid === undefined ? [] : treeOf(pid)) {
    try {
      process.kill(id, 'SIGKILL')
    } catch (error) {
      // ESRCH: it has ended since it was listed.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

function contestant(name: string, port: number, child: ChildProcess): Contestant {
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
    const ended = once(child, 'exit')
    child.kill(signal)
    const late = setTimeout(() => killTree(child), START_TIMEOUT)
    await ended
    clearTimeout(late)
    return child.exitCode
  }
  return { name, port, pid: child.pid ?? 0, stop }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const settle = (answer: boolean) => () => {
      socket.destroy()
      resolve(answer)
    }
    socket.on('connect', settle(true)).on('error', settle(false))
  })
}
