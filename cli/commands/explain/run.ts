import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { type Authenticator, credentialsOf, type Explanation } from 'sallyport'
import type { Problem } from 'sallyport/problem'
import { painter } from '../colour.js'
import { readList } from '../config/listed-settings.js'
import { readFailure } from '../config/read-failure.js'
import { explainGroups } from '../options/explain.js'
import type { Invocation } from '../options/option.js'
import { valuesOf } from '../options/values.js'
import { exitCode, tell } from '../terminal.js'
import { type Gate, withGates } from './explain-gates.js'

/** Judges a token by every provider of a file, in order, and prints what each of them looked at. */
export async function explain({ given }: Invocation): Promise<number> {
  const { config, 'token-file': tokenFile } = valuesOf(explainGroups, given)
  const outcome = await readList(config)
  if ('problems' in outcome) return tell(outcome.problems)

  const read = await readToken(tokenFile)
  if ('problem' in read) return tell([read.problem])
  const { token } = read
  return withGates(outcome, async (gates) => {
    let accepted = false
    // A list whose scopes do the asking has a gate round them at which nobody stands.
    const kept = gates.filter(({ authenticators }) => authenticators.length > 0)
    for (const gate of kept) accepted = (await explainGate(gate, token, kept.length > 1)) || accepted
    if (kept.length === 0) print('no provider is here who could accept a token')
    return accepted ? exitCode.asked : exitCode.failed
  })
}

async function readToken(
  file: string | undefined,
): Promise<{ readonly token: string } | { readonly problem: Problem }> {
  const place = file ?? 'standard input'
  try {
    const written = (file === undefined ? await text(process.stdin) : await readFile(file, 'utf8')).trim()
    // Pasted with its header, as people find it in a log of their client.
    const token = written.replace(/^(?:authorization:\s*)?bearer\s+/i, '')
    return token === '' ? { problem: { place, message: 'a token is expected, and it is empty' } } : { token }
  } catch (error) {
    return { problem: { place, message: readFailure(error) } }
  }
}

async function explainGate(
  { scope, authenticators }: Gate,
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
  if (authenticator.explain === undefined) {
    print(`${heading}: cannot tell, this plugin explains nothing`)
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
  process.stdout.write(`${line}\n`)
}
