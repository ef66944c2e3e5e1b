import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { bin } from '#kit/started-program.js'

/** The command line of `sallyport proxy stdio`. */
export const bridgeCommand = (target: string, flags: readonly string[] = []) =>
  command(['proxy', 'stdio', 'test', '--target-uri', target, ...flags])

const command = (argv: readonly string[]) => ({
  command: process.execPath,
  args: [bin, ...argv],
})

export interface Bridged {
  readonly process: ChildProcessWithoutNullStreams
  /** Everything on stdout, line by line. */
  readonly lines: string[]
  log(): string
  say(...messages: readonly (object | string)[]): void
  /** The message with that id, or that method. */
  heard(idOrMethod: string | number): Promise<Record<string, unknown>>
  ended(): Promise<number | null>
}

/** The bridge as a client starts it. Killed when the test ends. */
export const bridged = (
  t: TestContext,
  target: string,
  flags: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Bridged => spoken(t, bridgeCommand(target, flags), environment)

/** The same for the list in a file. */
export const bridgedBy = (t: TestContext, config: string): Bridged =>
  spoken(t, command(['run', '--config', config]), {})

function spoken(
  t: TestContext,
  { command, args }: ReturnType<typeof bridgeCommand>,
  environment: Readonly<Record<string, string>>,
): Bridged {
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...environment },
  })
  const exit = once(child, 'close').then(([code]: (number | null)[]) => code ?? null)
  const lines: string[] = []
  const rest: string[] = []
  let log = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const [first = '', ...more] = text.split('\n')
    rest.push(first)
    for (const next of more) lines.push(rest.splice(0, Number.POSITIVE_INFINITY, next).join(''))
  })
  child.stderr.on('data', (text) => {
    log += String(text)
  })
  child.stdin.on('error', () => {})
  t.after(async () => {
    child.kill('SIGKILL')
    await exit
  })
  const messages = (): Record<string, unknown>[] => lines.map((line) => JSON.parse(line))
  return {
    process: child,
    lines,
    log: () => log,
    say: (...given) => {
      for (const each of given)
        child.stdin.write(`${typeof each === 'string' ? each : JSON.stringify(each)}\n`)
    },
    heard: (wanted) =>
      eventually(() => messages().find(({ id, method }) => (method ?? id) === wanted)).catch(
        (error: Error) => {
          throw new Error(`${error.message}\n${lines.join('\n')}\n${log}`)
        },
      ),
    ended: () => exit,
  }
}

export const initialize = (version = '2025-11-25', id: string | number = 0) => ({
  jsonrpc: '2.0',
  id,
  method: 'initialize',
  params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})

export const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' }

export const ask = (id: string | number, method: string, params: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})
