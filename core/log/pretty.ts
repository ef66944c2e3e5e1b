import { createRequire } from 'node:module'
import type { prettyFactory } from 'pino-pretty'

const ESCAPE = /\\(?:u[\da-f]{4}|.)/g
const UNCHANGED = new Set(['\\"', '\\\\', '\\/', '\\n', '\\t'])

/** Escapes twice, so that control characters are still escaped after pino-pretty has parsed the line. */
const escapeTwice = (line: string): string =>
  line.replace(ESCAPE, (sequence) => (UNCHANGED.has(sequence) ? sequence : `\\${sequence}`))

// Synchronous, because a log that loads pino-pretty later loses the lines of a boot that fails.
export function prettyLines(colorize: boolean): (line: string) => string {
  const pretty: { prettyFactory: typeof prettyFactory } = createRequire(import.meta.url)('pino-pretty')
  const options = { colorize, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' }
  const print = pretty.prettyFactory(options)
  return (line) => print(escapeTwice(line))
}
