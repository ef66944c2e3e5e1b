import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { Authenticator, Explanation } from 'sallyport'
import { credentialsOf, fileFailure } from 'sallyport/toolkit'
import type { Problem } from '#core/contract/problem.js'
import { painter } from '../../colour.js'
import { hidden } from '../../config/hidden.js'
import { readList } from '../../config/read-list.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems } from '../../terminal.js'
import { type ScopeAuthenticators, withAuthenticators } from './authenticators.js'
import { explainCommand } from './flags.js'

/** Checks a token against every provider of a file, in order, and prints what each of them checked. */
export async function explain({ options }: Invocation): Promise<number> {
  const { config, tokenFile } = valuesOf(explainCommand.groups, options)
  const result = await readList(config)
  if ('problems' in result) return printProblems(result.problems)

  const read = await readToken(tokenFile)
  if ('problem' in read) return printProblems([read.problem])
  const { token } = read
  return withAuthenticators(result, async (scopes) => {
    let accepted = false
    // A list can have all its authenticators in its scopes.
    const asked = scopes.filter(({ authenticators }) => authenticators.length > 0)
    for (const scope of asked) accepted = (await explainScope(scope, token, asked.length > 1)) || accepted
    if (asked.length === 0) print('the list has no provider that could accept a token')
    return accepted ? exitCode.ok : exitCode.failed
  })
}

async function readToken(
  file: string | undefined,
): Promise<{ readonly token: string } | { readonly problem: Problem }> {
  const place = file ?? 'standard input'
  try {
    const written = (file === undefined ? await text(process.stdin) : await readFile(file, 'utf8')).trim()
    // Pasted with its header, as in the log of a client.
    const token = written.replace(/^(?:authorization:\s*)?bearer\s+/i, '')
    return token === '' ? { problem: { place, message: 'a token is expected, and it is empty' } } : { token }
  } catch (error) {
    return { problem: { place, message: fileFailure(error) } }
  }
}

async function explainScope(
  { scope, authenticators }: ScopeAuthenticators,
  token: string,
  isOneOfMany: boolean,
): Promise<boolean> {
  if (isOneOfMany || scope !== '') print(`${scope === '' ? '/' : scope}:`)
  const { kind } = credentialsOf({ headers: { authorization: `Bearer ${token}` }, rawHeaders: [] })
  if (kind !== 'bearer') {
    print(
      'refused before any provider is asked (format): a token has letters, digits, - . _ ~ + / and = only, 16 KiB at most',
    )
    return false
  }
  let acceptedBy: string | undefined
  for (const [index, authenticator] of authenticators.entries()) {
    const heading = `${index + 1}. ${authenticator.provider}`
    if (acceptedBy !== undefined) print(`${heading}: not asked`)
    else if (await explainOne(heading, authenticator, token)) acceptedBy = authenticator.provider
  }
  print(acceptedBy === undefined ? 'the token is refused' : `the token is accepted by ${acceptedBy}`)
  return acceptedBy !== undefined
}

async function explainOne(heading: string, authenticator: Authenticator, token: string): Promise<boolean> {
  if (authenticator.explain === undefined && authenticator.open === true) {
    print(`${heading}: accepts it`)
    print('   ok    mode  nobody is asked for credentials')
    return true
  }
  if (authenticator.explain === undefined) {
    print(`${heading}: this plugin does not explain its verdict`)
    return false
  }
  const { verdict, findings }: Explanation = await authenticator.explain(token)
  const accepted = 'identity' in verdict
  print(`${heading}: ${accepted ? 'accepts it' : `refuses it (${verdict.rejection.cause})`}`)
  const paint = painter(process.stdout, process.env)
  const width = Math.max(...findings.map(({ about }) => about.length), 0)
  for (const { about, holds, detail } of findings) {
    const line = `   ${holds ? 'ok   ' : 'wrong'} ${about.padEnd(width)}  ${detail}`
    print(holds ? line : paint('red', line))
  }
  return accepted
}

function print(line: string): void {
  process.stdout.write(`${hidden.text(line)}\n`)
}
