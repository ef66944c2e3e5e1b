import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { Readable, Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import type { Io } from '#cli/io.js'
import { main } from '#cli/program.js'
import { eventually } from './captured-log.js'
import { bin, noKeyringOfUser } from './started-program.js'
import { runVariables } from './variables.js'

const HERE = process.cwd()

/** A run of the program. */
export interface Program {
  /** Everything that it has written so far. */
  readonly output: { readonly stdout: string; readonly stderr: string }
  /** The first address on stdout. */
  ready(): Promise<string>
  /** Resolves when stderr has a match. */
  until(pattern: RegExp): Promise<string>
  /** Its exit code, once it has ended. */
  ended(): Promise<number | null>
  stop(signal?: NodeJS.Signals): void
  reload(): void
}

export interface ProgramOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** The content of stdin: empty by default. */
  readonly input?: string | Uint8Array | Readable
  /** Seconds that `ready` and `until` wait. */
  readonly patience?: number
  /** Columns of its terminal; without it, the output is no terminal. */
  readonly columns?: number
}

/**
 * Runs `sallyport` in this process, with only these variables in its environment; stopped when the test ends. The
 * variables and the folder are set for this whole process during the run, since plugins read them there.
 */
export function program(t: TestContext, argv: readonly string[], options: ProgramOptions = {}): Program {
  const { environment = {}, cwd, patience = 30 } = options
  const variables = { ...noKeyringOfUser, ...environment }
  runVariables.begin(variables)
  if (cwd !== undefined) inFolder(t, cwd)
  const { io, output } = testIo(options)
  let code: number | undefined
  const ended = main(argv, io).finally(() => runVariables.end(variables))
  ended.then(
    (ending) => {
      code = ending
    },
    () => {},
  )
  const stop = (signal: NodeJS.Signals = 'SIGTERM'): void => void io.signals.emit(signal)
  t.after(async () => {
    stop()
    await ended
  })

  const look = (pattern: RegExp, stream: 'stdout' | 'stderr') => () => {
    const found = pattern.exec(output[stream])?.[0]
    if (found === undefined && code !== undefined)
      assert.fail(`it ended with ${code} before ${pattern} was seen\n${output.stderr}`)
    return found
  }
  const explained = (error: Error): never => assert.fail(`${error.message}\n${output.stderr}`)
  return {
    output,
    ready: () => eventually(look(/https?:\/\/[^\s,]+/, 'stdout'), patience).catch(explained),
    until: (pattern) => eventually(look(pattern, 'stderr'), patience).catch(explained),
    ended: () => ended,
    stop,
    reload: () => void io.signals.emit('SIGHUP'),
  }
}

/** Runs `sallyport` in this process to its end. */
export async function cli(t: TestContext, argv: readonly string[], options: ProgramOptions = {}) {
  const run = program(t, argv, options)
  return { code: await run.ended(), ...run.output }
}

/** The streams, environment and signals of a run in this process, and the text that it writes. */
export function testIo({ environment = {}, input = '', columns }: ProgramOptions = {}) {
  const { PATH = '', HOME = '' } = process.env
  const output = { stdout: '', stderr: '' }
  const io = {
    stdin: input instanceof Readable ? input : Readable.from([Buffer.from(input)]),
    stdout: writer(output, 'stdout', columns),
    stderr: writer(output, 'stderr', columns),
    env: { PATH, HOME, ...noKeyringOfUser, ...environment },
    started: bin,
    signals: new EventEmitter(),
  } satisfies Io
  return { io, output }
}

function writer(
  output: { stdout: string; stderr: string },
  stream: keyof typeof output,
  columns: number | undefined,
) {
  const writable = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      output[stream] += String(chunk)
      done()
    },
  })
  return Object.assign(writable, columns !== undefined && { isTTY: true, columns })
}

function inFolder(t: TestContext, folder: string): void {
  process.chdir(folder)
  t.after(() => process.chdir(HERE))
}
