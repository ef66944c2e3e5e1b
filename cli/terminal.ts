import type { Problem } from 'sallyport/problem'
import { problemLine } from 'sallyport/problem'
import { painter } from './colour.js'

/** What the process says when it ends. */
export const exitCode = { asked: 0, failed: 1, misconfigured: 2 } as const

/** Prints problems to stderr, one line each, and answers the exit code that they mean. */
export function tell(problems: readonly Problem[]): number {
  const paint = painter(process.stderr, process.env)
  const lines = problems.map((problem) => {
    const place = oneLine(problem.place)
    const line = oneLine(problemLine(problem))
    return `${paint('red', place)}${line.slice(place.length)}\n`
  })
  process.stderr.write(lines.join(''))
  return exitCode.misconfigured
}

/**
 * Prints what stopped a command. Problems of the configuration are the operator's and never show a stack;
 * the stack of anything else is ours and shows with `--debug`.
 */
export async function report(error: unknown, debug: boolean): Promise<number> {
  const { ConfigError } = await import('sallyport')
  if (error instanceof ConfigError) return tell(error.problems)
  const paint = painter(process.stderr, process.env)
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`${paint('red', 'sallyport')}: ${oneLine(message)}\n`)
  if (debug && error instanceof Error) process.stderr.write(`${stackOf(error)}\n`)
  return exitCode.failed
}

function stackOf(error: Error): string {
  const stack = error.stack ?? error.message
  return error.cause instanceof Error ? `${stack}\ncaused by: ${stackOf(error.cause)}` : stack
}

// A control character would let a file name or a flag break the line, or speak to the terminal.
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\x${code.toString(16).padStart(2, '0')}`
  })
}
