import { LogScrubber } from 'sallyport/embed'
import type { LocatedIssue } from 'sallyport/server-json'
import { hidden } from '../../config/hidden.js'
import type { Io, Output } from '../../io.js'
import { exitCode, printable } from '../../terminal.js'
import { issueLine } from '../validate/issue-line.js'
import { type RegistryRefusal, refusalLines } from './refusal.js'

/** The outcome of a command, as `--json` prints it. */
export type Outcome = Published | StatusChanged | Refused | Invalid

/** This command refused the document, and sent no request. */
interface Invalid {
  readonly result: 'invalid'
}

interface Published {
  readonly result: 'published' | 'would publish'
  readonly name: string
  readonly version: string
  readonly status: string
  /** The version that `latest` names: null for none, missing when it is not known. */
  readonly latest: { readonly before?: string | null; readonly now?: string | null }
  readonly url: string
}

interface StatusChanged {
  readonly result: 'changed'
  readonly name: string
  readonly versions: readonly StatusChange[]
}

interface StatusChange {
  readonly version: string
  readonly before: string
  readonly after: string
}

interface Refused extends RegistryRefusal {
  readonly result: 'refused'
}

interface Found {
  readonly file: string
  readonly issues: readonly LocatedIssue[]
}

/** Prints changes to stdout, a refusal to stderr, and issues as `validate` does. A registry may echo a token. */
export function printOutcome(
  outcome: Outcome,
  { file, issues }: Found,
  asJson: boolean,
  io: Io,
  scrubber = new LogScrubber(),
): number {
  const { result } = outcome
  const print = (stream: Output, lines: readonly string[]): void => {
    // Text from a registry may hold any character.
    const shown = lines.map((line) => printable(scrubber.text(hidden.text(line))))
    stream.write(shown.map((line) => `${line}\n`).join(''))
  }
  if (asJson) {
    const scrubbed = JSON.parse(scrubber.line(JSON.stringify(outcome)))
    io.stdout.write(`${hidden.text(JSON.stringify({ ...scrubbed, issues }))}\n`)
  } else {
    io.stdout.write(issues.map((issue) => `${issueLine(file, issue, io)}\n`).join(''))
    if (result === 'refused') print(io.stderr, refusalLines(outcome))
    else if (result !== 'invalid') print(io.stdout, linesOf(outcome))
  }
  return result === 'refused' || result === 'invalid' ? exitCode.failed : exitCode.ok
}

function linesOf(outcome: Published | StatusChanged): readonly string[] {
  const { result, name } = outcome
  if (result === 'changed') {
    const { versions } = outcome
    return versions.map(({ version, before, after }) =>
      before === after
        ? `${name} ${version}  ${after}, as before`
        : `${name} ${version}  ${before} -> ${after}`,
    )
  }
  const { version, status, latest, url } = outcome
  return [
    `${result} ${name} ${version}`,
    `  status  ${status}`,
    ...latestLine(outcome.result, latest).map((text) => `  latest  ${text}`),
    `  url     ${url}`,
  ]
}

function latestLine(result: Published['result'], { before, now }: Published['latest']): readonly string[] {
  if (before === undefined) return []
  const old = before ?? 'none'
  if (result === 'would publish') return [`${old}, before it is published`]
  return now === undefined || now === before ? [`${old}, as before`] : [`${old} -> ${now ?? 'none'}`]
}
