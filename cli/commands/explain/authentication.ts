import type { Authenticator, Explanation, Identity } from 'sallyport'
import { bearerCredentials } from 'sallyport/toolkit'
import type { ScopeChecks } from './checks.js'
import { print, printFindings } from './findings.js'

/** Who sent a request, as far as somebody was asked; or nobody, as it was refused. */
export type Caller = { readonly identity: Identity | undefined } | 'refused'

/** Prints what each authenticator of a scope says of the token, or of a request without one. */
export async function authenticated(
  { authenticators, request }: ScopeChecks,
  token: string | undefined,
): Promise<Caller> {
  if (authenticators.length === 0) {
    print('nobody is asked for credentials')
    return { identity: undefined }
  }
  if (token !== undefined && !isWellFormed(token)) {
    print(
      'refused before any provider is asked (format): a token has letters, digits, - . _ ~ + / and = only, 16 KiB at most',
    )
    return 'refused'
  }
  let accepted: { readonly by: string; readonly identity: Identity } | undefined
  for (const [index, authenticator] of authenticators.entries()) {
    const heading = `${index + 1}. ${authenticator.provider}`
    if (accepted !== undefined) print(`${heading}: not asked`)
    else {
      const identity = await identityBy(heading, authenticator, token, request)
      if (identity !== undefined) accepted = { by: authenticator.provider, identity }
    }
  }
  const what = token === undefined ? 'a request without a token' : 'the token'
  print(accepted === undefined ? `${what} is refused` : `${what} is accepted by ${accepted.by}`)
  return accepted ?? 'refused'
}

const isWellFormed = (token: string): boolean => bearerCredentials(token).kind === 'bearer'

async function identityBy(
  heading: string,
  authenticator: Authenticator,
  token: string | undefined,
  request: ScopeChecks['request'],
): Promise<Identity | undefined> {
  if (authenticator.open === true && (authenticator.explain === undefined || token === undefined)) {
    const verdict = await authenticator.authenticate(await request())
    if ('rejection' in verdict) {
      print(`${heading}: refuses it (${verdict.rejection.cause})`)
      return undefined
    }
    print(`${heading}: accepts it`)
    print('   ok    mode  nobody is asked for credentials')
    return verdict.identity
  }
  if (authenticator.explain === undefined || token === undefined) {
    print(`${heading}: ${token === undefined ? 'needs a token' : 'this plugin does not explain its verdict'}`)
    return undefined
  }
  const { verdict, findings }: Explanation = await authenticator.explain(token)
  const accepted = 'identity' in verdict
  print(`${heading}: ${accepted ? 'accepts it' : `refuses it (${verdict.rejection.cause})`}`)
  printFindings(findings)
  return accepted ? verdict.identity : undefined
}
