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

/** Prints what is probably a mistake to stderr, one line each. */
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

/** A problem in one line that shows nothing that came from outside of the configuration. */
export const problemText = (problem: Problem): string => printable(hidden.text(problemLine(problem)))

/**
 * Prints the error that ended a command. A problem of the configuration has no stack; that of any other error is
 * printed with `--debug`.
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

/** Milliseconds that the end of the process waits for whoever reads what it said. */
const LAST_WORDS = 1_000

/** Ends a process, whatever would keep it alive, once what was said has left it or nobody takes it. */
export async function endOnceSaid(code: number, io: Io): Promise<number> {
  await said(io)
  return io.exit?.(code) ?? code
}

async function said({ stdout, stderr }: Io): Promise<void> {
  const full = [stdout, stderr].filter(({ writableLength }) => writableLength > 0)
  if (full.length === 0) return
  const left = full.map((stream) => new Promise<void>((done) => stream.write('', () => done())))
  await Promise.race([Promise.all(left), pause(LAST_WORDS)])
}

function stackOf(error: Error): string {
  const stack = error.stack ?? error.message
  return error.cause instanceof Error ? `${stack}\ncaused by: ${stackOf(error.cause)}` : stack
}

/**
 * Text from outside in one line. Control characters and line separators could break it or send commands to the terminal,
 * and those for the direction of text could show another one than there is: they are shown by their codes.
 */
export const printable = (text: string): string =>
  replaceUnsafe(text, (character) => {
    const code = character.charCodeAt(0).toString(16)
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`
  })

export const replaceUnsafe = (text: string, replacement: (character: string) => string): string =>
  text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, replacement)
