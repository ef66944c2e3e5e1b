import type { Examination } from 'sallyport'
import { createFetcher, insecureHttpAllowed } from 'sallyport/toolkit'

interface Examined {
  readonly issuerUrl: string
  readonly scopes: readonly string[]
  readonly caCertPath?: string | undefined
  readonly allowPrivateIP: boolean
}

/** Checks that people could sign in at the issuer. */
export async function examineIssuer(examination: Examination, options: Examined): Promise<void> {
  const { probes, path } = examination
  const { issuerUrl, allowPrivateIP } = options
  const caFile = path(options.caCertPath)
  const privateOption = allowPrivateIP ? undefined : 'allowPrivateIP: true'
  if (!(await probes.reach(issuerUrl, { caFile, privateOption }))) return
  const allowInsecureHttp = insecureHttpAllowed()
  const fetcher = createFetcher({ caFile, allowPrivate: allowPrivateIP, allowInsecureHttp })
  try {
    const { document, failure } = await probes.askIssuer(fetcher.fetch, issuerUrl)
    if (document === undefined) {
      const detail = `no metadata below ${issuerUrl}: ${failure}`
      examination.wrong('sign-in', 'DISCOVERY_FAILED', detail, 'check issuerUrl')
    } else examineMetadata(examination, document, options)
  } finally {
    await fetcher.close()
  }
}

function examineMetadata(
  { ok, wrong, warning }: Examination,
  document: Readonly<Record<string, unknown>>,
  { scopes }: Examined,
): void {
  const lacks = (field: string, value: string): boolean => {
    const listed = document[field]
    return Array.isArray(listed) && !listed.includes(value)
  }
  const problems = [
    ...['authorization_endpoint', 'token_endpoint']
      .filter((field) => typeof document[field] !== 'string')
      .map((field) => `its metadata names no ${field}`),
    ...(lacks('response_types_supported', 'code') || lacks('grant_types_supported', 'authorization_code')
      ? ['it does not offer the authorization code flow']
      : []),
    ...(lacks('code_challenge_methods_supported', 'S256') ? ['it does not support PKCE with S256'] : []),
  ]
  if (problems.length > 0)
    wrong('sign-in', 'SIGN_IN_UNSUPPORTED', problems.join('; '), 'ask the operator of the provider')
  else ok('sign-in', 'the issuer offers the authorization code flow with PKCE')
  const unknown = scopes.filter((scope) => lacks('scopes_supported', scope))
  if (unknown.length > 0) {
    const detail = `its metadata does not list ${unknown.join(', ')}`
    warning('sign-in', 'SCOPE_UNKNOWN', detail, 'check scopes: some issuers do not list all that they know')
  }
}
