import type { LocatedIssue } from 'sallyport/server-json'
import { painter } from '../../colour.js'
import type { Io } from '../../io.js'
import { printable } from '../../terminal.js'

/** An issue of a document in the form of compilers: terminals and editors turn its place into a link. */
export function issueLine(
  file: string,
  { line, column, severity, message, path }: LocatedIssue,
  { stdout, env }: Io,
): string {
  const paint = painter(stdout, env)
  const place = printable(`${file}:${line}:${column}`)
  const about = path === '' ? '' : ` (${printable(path)})`
  return `${paint('bold', place)}: ${paint(severity === 'error' ? 'red' : 'cyan', severity)}: ${printable(message)}${about}`
}
