import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'

export interface Spawned {
  readonly process: ChildProcess
  /** What it has said. */
  readonly output: { stdout: string; stderr: string }
  /** Its code and its signal, once it has ended and nobody has its output any more. */
  readonly closed: Promise<readonly [number | null, NodeJS.Signals | null]>
}

/** Starts a program. When the test ends it is killed, or ended in another way, and waited for. */
export function spawned(
  t: Pick<TestContext, 'after'>,
  [command = '', ...argv]: readonly string[],
  options: SpawnOptions = {},
  end: (child: ChildProcess) => unknown = (child) => child.kill('SIGKILL'),
): Spawned {
  const child = spawn(command, argv, options)
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk) => {
      output[stream] += String(chunk)
    })
  }
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  t.after(async () => {
    end(child)
    await closed
  })
  return { process: child, output, closed }
}

const isUtilLinux = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux')

/** Why no test has a terminal here. */
export const noTerminal = isUtilLinux ? false : 'no `script` of util-linux here, which makes a terminal'

/** Runs a command of the shell on a terminal: standard output is what that shows. */
export const onTerminal = (
  t: TestContext,
  command: string,
  env: NodeJS.ProcessEnv,
  end?: (child: ChildProcess) => unknown,
): Spawned =>
  spawned(
    t,
    ['script', '-q', '-e', '-f', '-c', command, '/dev/null'],
    { env, stdio: ['pipe', 'pipe', 'inherit'] },
    end,
  )
