import { setTimeout as pause } from 'node:timers/promises'
import type { Problem } from 'sallyport'
import { problemLine } from '#core/contract/problem.js'
import { messageOf } from '#core/toolkit/message-of.js'
import { painter } from './colour.js'
import { hidden } from './config/hidden.js'
import type { Io } from './io.js'
import { tooFewFiles } from './open-files.js'

export const exitCode = { ok: 0, failed: 1, misconfigured: 2 } as const

/** Prints problems to stderr, one line each, and returns their exit code. */
export function printProblems(problems: readonly Problem[], io: Io): number {
  printLines(problems, io, 'red')
  return exitCode.misconfigured
}

/** Prints probable mistakes to stderr, one line each. */
export const printWarnings = (warnings: readonly Problem[], io: Io): void =>
  printLines(warnings, io, 'yellow', 'warning: ')

function printLines(
  problems: readonly Problem[],
  { stderr, env }: Io,
  colour: 'red' | 'yellow',
  before = '',
): void {
  const paint = painter(stderr, env)
  const lines = problems.map((problem) => {
    const place = printable(problem.place)
    const line = problemText(problem)
    return `${before}${line.startsWith(place) ? paint(colour, place) + line.slice(place.length) : line}\n`
  })
  stderr.write(lines.join(''))
}

/** A problem in one line, without values that came from the environment or another file. */
export const problemText = (problem: Problem): string => printable(hidden.text(problemLine(problem)))

/**
 * Prints the error that ended a command. A problem of the configuration has no stack; with `--debug` other errors
 * are printed with theirs.
 */
export async function printError(error: unknown, io: Io, debug: boolean): Promise<number> {
  const sentence = tooFewFiles(error)
  const { ConfigError } = await import('sallyport')
  if (sentence === undefined && error instanceof ConfigError) return printProblems(error.problems, io)
  const { stderr, env } = io
  const paint = painter(stderr, env)
  const message = sentence ?? messageOf(error)
  stderr.write(`${paint('red', 'sallyport')}: ${printable(hidden.text(message))}\n`)
  if (debug && error instanceof Error) stderr.write(`${hidden.text(stackOf(error))}\n`)
  return exitCode.failed
}

/** Milliseconds that the end of the process waits for a slow reader of stdout and stderr. */
const FLUSH_TIMEOUT = 1_000

/** Ends the process, also with open handles, once its output is written or the reader takes too long. */
export async function exitAfterFlush(code: number, io: Io): Promise<number> {
  await flushed(io)
  return io.exit?.(code) ?? code
}

async function flushed({ stdout, stderr }: Io): Promise<void> {
  const full = [stdout, stderr].filter(({ writableLength }) => writableLength > 0)
  if (full.length === 0) return
  const left = full.map((stream) => new Promise<void>((done) => stream.write('', () => done())))
  await Promise.race([Promise.all(left), pause(FLUSH_TIMEOUT)])
}

function stackOf(error: Error): string {
  const stack = error.stack ?? error.message
  return error.cause instanceof Error ? `${stack}\ncaused by: ${stackOf(error.cause)}` : stack
}

/**
 * Text from outside in one line. Control characters and line separators could break the line or send commands to the
 * terminal, and bidirectional controls could show a different text. Each is replaced by its code.
 */
export const printable = (text: string): string =>
  replaceUnsafe(text, (character) => {
    const code = character.charCodeAt(0).toString(16)
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`
  })

export const replaceUnsafe = (text: string, replacement: (character: string) => string): string =>
  text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, replacement)
