import { insecureHttpAllowed, isInsecure, isPrivateUrl, PLAIN_HTTP_RULE } from 'sallyport/toolkit'
import type { z } from 'zod'

interface Settings {
  readonly clientSecret?: string | undefined
  readonly clientSecretFile?: string | undefined
  readonly allowPrivateIP: boolean
  readonly authorizeParams: Readonly<Record<string, string>>
  readonly ask: readonly { readonly url: string }[]
}

// Each is part of the flow: another value would take away what it protects.
const OWN_PARAMETERS: ReadonlySet<string> = new Set([
  'client_id',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'resource',
  'request',
  'request_uri',
])

/** Reports what is wrong with the options of a login: `urls` are those of its options that name the provider. */
export function checkProvider<Name extends string>(
  settings: Settings & Readonly<Record<Name, string>>,
  urls: readonly Name[],
  context: z.core.$RefinementCtx,
): void {
  const report = (path: readonly (string | number)[], message: string): void =>
    void context.issues.push({ code: 'custom', input: settings, path: [...path], message })
  const all = [
    ...urls.map((name) => ({ path: [name], url: settings[name] })),
    ...settings.ask.map(({ url }, index) => ({ path: ['ask', index, 'url'], url })),
  ].filter(({ url }) => URL.canParse(url))
  for (const { path, url } of all) {
    if (isInsecure(new URL(url)) && !insecureHttpAllowed())
      report(path, `expected https: anybody on the network path could sign in as anybody; ${PLAIN_HTTP_RULE}`)
  }
  if (!settings.allowPrivateIP && all.some(({ url }) => isPrivateUrl(url)))
    report(['allowPrivateIP'], 'is needed: the provider is at a private or loopback address')
  if (settings.clientSecret !== undefined && settings.clientSecretFile !== undefined)
    report(['clientSecretFile'], 'excludes clientSecret: expected one of the two')
  for (const name of Object.keys(settings.authorizeParams))
    if (OWN_PARAMETERS.has(name))
      report(['authorizeParams', name], 'is set by the sign-in itself: take it out')
}
