import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'

export interface Spawned {
  readonly process: ChildProcess
  /** Everything that it has written so far. */
  readonly output: { stdout: string; stderr: string }
  /** Its exit code and signal, once it has ended and no process holds its output open. */
  readonly closed: Promise<readonly [number | null, NodeJS.Signals | null]>
}

/** Starts a program. The end of the test kills it, or calls `end`, and waits until it is gone. */
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

/** Why a test cannot have a terminal; false when it can. */
export const noTerminal = isUtilLinux ? false : 'a terminal needs `script` of util-linux'

/** Runs a shell command on a terminal: `output.stdout` is what the terminal shows. */
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
