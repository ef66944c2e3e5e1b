import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { eventually } from './captured-log.js'
import type { Program } from './program.js'
import { type Spawned, spawned } from './spawned.js'

const root = dirname(createRequire(import.meta.url).resolve('sallyport/package.json'))

/** The program of the package that `npm test` builds first; without that, the program of the checkout. */
export const bin = join(process.env['SALLYPORT_TEST_PACKAGE'] ?? root, 'cli/bin.js')

/** The program, started in a process of its own. */
export interface StartedProgram extends Program, Pick<Spawned, 'process'> {}

// Keeps the tests away from the keyring of the user who runs them.
export const noKeyringOfUser = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/dev/null' }

interface StartOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Seconds that `ready` and `until` wait. */
  readonly patience?: number
  /** It leads a process group, as a program started by a shell does. */
  readonly group?: boolean
  /** `pipe`: the test writes its standard input, which is empty by default. */
  readonly input?: 'pipe' | 'ignore'
  /** It can load plugins in TypeScript, on every Node. */
  readonly typescript?: boolean
  /** The host name that it sees; needs root. */
  readonly hostname?: string
}

/** Starts `sallyport` with only these variables in its environment. Killed when the test ends. */
export function startedProgram(
  t: TestContext,
  argv: readonly string[],
  {
    environment = {},
    cwd = root,
    patience = 30,
    group = false,
    input = 'ignore',
    typescript = false,
    hostname,
  }: StartOptions = {},
): StartedProgram {
  const { PATH = '', HOME = '' } = process.env
  const loader = typescript ? ['--import', import.meta.resolve('tsx')] : []
  const renamed = hostname !== undefined && process.getuid?.() === 0
  const own = renamed ? ['unshare', '--uts', 'sh', '-c', 'hostname "$0" && exec "$@"', hostname] : []
  const command = [...own, process.execPath, ...loader, bin, ...argv]
  const {
    process: child,
    output,
    closed,
  } = spawned(t, command, {
    cwd,
    env: { PATH, HOME, ...noKeyringOfUser, ...environment },
    stdio: [input, 'pipe', 'pipe'],
    detached: group,
  })

  const look = (pattern: RegExp, stream: 'stdout' | 'stderr') => () => {
    const found = pattern.exec(output[stream])?.[0]
    const end = child.exitCode ?? child.signalCode
    if (found === undefined && end !== null) {
      assert.fail(`it ended with ${end} before ${pattern} was seen\n${output.stderr}`)
    }
    return found
  }
  const explained = (error: Error): never => assert.fail(`${error.message}\n${output.stderr}`)
  return {
    process: child,
    output,
    ready: () => eventually(look(/https?:\/\/[^\s,]+/, 'stdout'), patience),
    until: (pattern) => eventually(look(pattern, 'stderr'), patience).catch(explained),
    ended: async () => (await closed)[0],
    stop: (signal = 'SIGTERM') => void child.kill(signal),
    reload: () => void child.kill('SIGHUP'),
  }
}
