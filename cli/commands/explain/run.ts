import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { Problem } from 'sallyport'
import { fileFailure } from 'sallyport/toolkit'
import { readList } from '../../config/read-list.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems } from '../../terminal.js'
import { authenticated, Report } from './authentication.js'
import { type ScopeChecks, withChecks } from './checks.js'
import { explainCommand } from './flags.js'
import { type AskedCall, askedCall, judged } from './judgement.js'

/** Checks a token against every provider of a file, and a call against every policy, and prints each check. */
export async function explain({ options, environment }: Invocation, io: Io): Promise<number> {
  const { config, tokenFile, ...flags } = valuesOf(explainCommand.groups, options)
  const result = await readList(config, environment)
  if ('problems' in result) return printProblems(result.problems, io)
  const asked = askedCall(flags)
  if ('problem' in asked) return printProblems([asked.problem], io)

  const report = new Report(io)
  return withChecks(result, async (scopes) => {
    const checked = scopesToCheck(scopes, asked.call)
    const read: ReadToken = needsToken(checked, asked.call, tokenFile)
      ? await readToken(tokenFile, io)
      : { token: undefined }
    if ('problem' in read) return printProblems([read.problem], io)
    let passed = false
    for (const scope of checked) {
      if (checked.length > 1 || scope.scope !== '') report.print(`${scope.scope === '' ? '/' : scope.scope}:`)
      passed = (await explainScope(report, scope, read.token, asked.call)) || passed
    }
    if (checked.length === 0) {
      report.print(
        `the list has no provider that could accept a token${asked.call === undefined ? '' : ', and no policy'}`,
      )
    }
    return passed ? exitCode.ok : exitCode.failed
  })
}

/** The scopes to check: those with policies when a call is judged, otherwise those with authenticators. */
function scopesToCheck(scopes: readonly ScopeChecks[], call: AskedCall | undefined): readonly ScopeChecks[] {
  const judging = call === undefined ? [] : scopes.filter(({ policies }) => policies.length > 0)
  return judging.length > 0 ? judging : scopes.filter(({ authenticators }) => authenticators.length > 0)
}

/** False when every authenticator is open: then the anonymous caller is judged. */
function needsToken(
  scopes: readonly ScopeChecks[],
  call: AskedCall | undefined,
  tokenFile: string | undefined,
): boolean {
  if (call === undefined || tokenFile !== undefined) return true
  return scopes.some(({ authenticators }) => authenticators.some(({ open }) => open !== true))
}

async function explainScope(
  report: Report,
  scope: ScopeChecks,
  token: string | undefined,
  call: AskedCall | undefined,
): Promise<boolean> {
  const caller = await authenticated(report, scope, token)
  if (caller === 'refused') return false
  return call === undefined || judged(report, scope, caller.identity, call)
}

type ReadToken = { readonly token: string | undefined } | { readonly problem: Problem }

async function readToken(file: string | undefined, { stdin }: Io): Promise<ReadToken> {
  const place = file ?? 'standard input'
  try {
    const written = (file === undefined ? await text(stdin) : await readFile(file, 'utf8')).trim()
    // A user may paste the whole header, such as from the log of a client.
    const token = written.replace(/^(?:authorization:\s*)?bearer\s+/i, '')
    return token === '' ? { problem: { place, message: 'a token is expected, and it is empty' } } : { token }
  } catch (error) {
    return { problem: { place, message: fileFailure(error) } }
  }
}
