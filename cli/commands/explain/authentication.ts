import type { Authenticator, Finding, Identity } from 'sallyport'
import { bearerCredentials, messageOf } from 'sallyport/toolkit'
import { painter } from '../../colour.js'
import { hidden } from '../../config/hidden.js'
import type { Io } from '../../io.js'
import type { ScopeChecks } from './checks.js'

/** The identity of the caller, undefined when no authenticator was configured; or a refusal. */
export type Caller = { readonly identity: Identity | undefined } | 'refused'

/** Prints the verdict of each authenticator of a scope on the token, or on a request without one. */
export async function authenticated(
  report: Report,
  { authenticators, request }: ScopeChecks,
  token: string | undefined,
): Promise<Caller> {
  if (authenticators.length === 0) {
    report.print('no credentials are required')
    return { identity: undefined }
  }
  if (token !== undefined && !isWellFormed(token)) {
    report.print(
      'refused before any provider is asked (format): a token has only letters, digits, - . _ ~ + / and =, and at most 16 KiB',
    )
    return 'refused'
  }
  let accepted: { readonly by: string; readonly identity: Identity } | undefined
  let hasFailed = false
  for (const [index, authenticator] of authenticators.entries()) {
    const heading = `${index + 1}. ${authenticator.provider}`
    if (accepted !== undefined || hasFailed) {
      report.print(`${heading}: not asked`)
      continue
    }
    try {
      const identity = await identityBy(report, heading, authenticator, token, request)
      if (identity !== undefined) accepted = { by: authenticator.provider, identity }
    } catch (error) {
      hasFailed = true
      report.print(`${heading}: fails: ${messageOf(error)}`)
    }
  }
  const what = token === undefined ? 'a request without a token' : 'the token'
  report.print(accepted === undefined ? `${what} is refused` : `${what} is accepted by ${accepted.by}`)
  return accepted ?? 'refused'
}

const isWellFormed = (token: string): boolean => bearerCredentials(token).kind === 'bearer'

async function identityBy(
  report: Report,
  heading: string,
  authenticator: Authenticator,
  token: string | undefined,
  request: ScopeChecks['request'],
): Promise<Identity | undefined> {
  const isOpen = authenticator.open === true
  if (token === undefined && !isOpen) {
    report.print(`${heading}: needs a token`)
    return undefined
  }
  const explained = token === undefined ? undefined : await authenticator.explain?.(token)
  const verdict = explained?.verdict ?? (await authenticator.authenticate(await request(token)))
  const accepted = 'identity' in verdict
  const why = explained === undefined && !isOpen ? ', and does not explain why' : ''
  report.print(`${heading}: ${accepted ? 'accepts it' : `refuses it (${verdict.rejection.cause})`}${why}`)
  report.findings(explained?.findings ?? (isOpen && accepted ? OPEN_FINDINGS : []))
  return accepted ? verdict.identity : undefined
}

const OPEN_FINDINGS = [{ about: 'mode', holds: true, detail: 'no credentials are required' }]

/** The output of the command, line by line. */
export class Report {
  constructor(private readonly io: Io) {}

  print(line: string): void {
    this.io.stdout.write(`${hidden.text(line)}\n`)
  }

  /** Prints a line for each finding; a finding that does not hold is red. */
  findings(findings: readonly Finding[]): void {
    const paint = painter(this.io.stdout, this.io.env)
    const width = Math.max(...findings.map(({ about }) => about.length), 0)
    for (const { about, holds, detail } of findings) {
      const line = `   ${holds ? 'ok   ' : 'wrong'} ${about.padEnd(width)}  ${detail}`
      this.print(holds ? line : paint('red', line))
    }
  }
}
