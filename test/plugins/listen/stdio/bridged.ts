import assert from 'node:assert/strict'
import { PassThrough, type Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { type Program, program } from '#kit/program.js'
import { bin, startedProgram } from '#kit/started-program.js'

/** The command line of `sallyport proxy stdio`. */
export const bridgeCommand = (target: string, flags: readonly string[] = []) => ({
  command: process.execPath,
  args: [bin, 'proxy', 'stdio', 'test', '--target-uri', target, ...flags],
})

export interface Bridged {
  /** Standard input. */
  readonly input: Writable
  /** Everything on stdout, line by line. */
  readonly lines: readonly string[]
  log(): string
  say(...messages: readonly (object | string)[]): void
  /** The message with that id, or that method. */
  heard(idOrMethod: string | number): Promise<Record<string, unknown>>
  ended(): Promise<number | null>
  stop(): void
}

/** The bridge in this process. Stopped when the test ends. */
export const bridged = (
  t: TestContext,
  target: string,
  flags: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Bridged => here(t, ['proxy', 'stdio', 'test', '--target-uri', target, ...flags], environment)

/** The bridge in this process, with the list of a file. */
export const bridgedBy = (t: TestContext, config: string): Bridged => here(t, ['run', '--config', config], {})

function here(
  t: TestContext,
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
): Bridged {
  const input = new PassThrough()
  return spoken(input, program(t, argv, { environment, input }))
}

/** The bridge as a client starts it. Killed when the test ends. */
export function startedBridge(
  t: TestContext,
  target: string,
  flags: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
) {
  const argv = ['proxy', 'stdio', 'test', '--target-uri', target, ...flags]
  const started = startedProgram(t, argv, { environment, input: 'pipe' })
  const { stdin, stdout, pid } = started.process
  assert.ok(stdin !== null && stdout !== null)
  stdin.on('error', () => {})
  return Object.assign(spoken(stdin, started), { process: started.process, stdout, pid })
}

function spoken(input: Writable, { output, ended, stop }: Program): Bridged {
  const linesNow = (): readonly string[] => output.stdout.split('\n').slice(0, -1)
  return {
    input,
    get lines() {
      return linesNow()
    },
    log: () => output.stderr,
    say: (...given) => {
      for (const each of given) input.write(`${typeof each === 'string' ? each : JSON.stringify(each)}\n`)
    },
    heard: (wanted) =>
      eventually(() =>
        linesNow()
          .map((line): Record<string, unknown> => JSON.parse(line))
          .find(({ id, method }) => (method ?? id) === wanted),
      ).catch((error: Error) => {
        throw new Error(`${error.message}\n${output.stdout}\n${output.stderr}`)
      }),
    ended,
    stop: () => stop(),
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
