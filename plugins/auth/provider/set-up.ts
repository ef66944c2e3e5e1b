import {
  Authenticator,
  ConfigError,
  type Examination,
  type Fetch,
  type Gateway,
  Health,
  IssuerMetadata,
  ResourceMetadata,
} from 'sallyport'
import { type Secret, secretFrom } from 'sallyport/toolkit'
import { authenticatorOf, type ProviderAuthenticator, rememberedTokens } from './authenticator.js'
import type { ClaimPolicy } from './claims.js'
import { checkFiles, openEgress, withOption } from './egress.js'
import type { ExaminedProvider } from './examine.js'
import { Introspector } from './introspector.js'
import { JwksCache, type LatestKeys } from './jwks-cache.js'
import { JwksSource } from './jwks-source.js'
import type { CommonOptions, IntrospectionOptions, KeyOptions, ProviderSettings } from './options.js'
import { TokenVerifier } from './verifier.js'

/** The capabilities that `setUpProvider` provides. */
export const provided = [Authenticator, ResourceMetadata, Health]
export const omits = ({ advertised }: Pick<CommonOptions, 'advertised'>) =>
  advertised ? [] : [ResourceMetadata]

export async function examine(examination: Examination, options: ExaminedProvider): Promise<void> {
  const { examineProvider } = await import('./examine.js')
  await examineProvider(examination, options)
}

/** Sets up the authenticator of one provider. The plugins differ in the options that they pass. */
export function setUpProvider(gateway: Gateway, settings: ProviderSettings): void {
  const { common, keys, introspection } = settings
  checkFiles(gateway, settings)

  const bearerTo = new Set(
    [keys?.jwksUrl, introspection?.introspectionUrl].filter((url) => url !== undefined),
  )
  const egress = openEgress(gateway, common, bearerTo)
  gateway.onStop(() => egress.close())
  const own = { fetch: egress.fetch, bearerTo }
  const jwks = keys === undefined ? undefined : openJwksCache(gateway, common, keys, own)
  const verifier = openVerifier(gateway, settings, own, jwks)
  const { introspector } = verifier.options
  jwks?.onChange(() => verifier.clearCache())

  const authenticator = authenticatorOf(verifier)
  gateway.provide(Authenticator, authenticator)
  refuseSharedName(gateway, authenticator)
  if (common.advertised) gateway.provide(ResourceMetadata, { authorization_servers: [common.issuerUrl] })
  const { id, scope } = gateway
  gateway.provide(Health, {
    name: scope === '' ? id : `${scope} ${id}`,
    check: () => worst(jwks?.health(), introspector?.health()),
  })
}

/** Limits, publishing and the audit identify callers by this name and the subject: two issuers may use one subject. */
function refuseSharedName(gateway: Gateway, { provider, issuerUrl }: ProviderAuthenticator): void {
  const authenticators = gateway.use(Authenticator)
  gateway.onStart(() => {
    const isShared = authenticators().some(
      (each: Partial<ProviderAuthenticator>) => each.provider === provider && each.issuerUrl !== issuerUrl,
    )
    if (isShared) throw new ConfigError([{ place: 'name', message: NAME_IS_SHARED }])
  })
}

const NAME_IS_SHARED =
  'is also the name of a provider with another issuer, so their callers would be confused: give each issuer its own name'

interface Egress {
  readonly fetch: Fetch
  /** The URLs that get the token of `authTokenFile`. */
  readonly bearerTo: Set<string>
}

function openVerifier(
  gateway: Gateway,
  settings: ProviderSettings,
  egress: Egress,
  jwks: JwksCache | undefined,
): TokenVerifier {
  const { common, keys, introspection } = settings
  return new TokenVerifier({
    name: common.name,
    policy: policyFrom(common, []),
    kinds: keys ?? { requireAccessTokenType: false, acceptIdTokens: false },
    jwks,
    introspector:
      introspection === undefined ? undefined : openIntrospector(gateway, common, introspection, egress),
    introspectionPolicy: policyFrom(common, optionalIn(introspection)),
    introspectionTtl: introspection?.introspectionCacheTtl ?? 0,
    hits: rememberedTokens(gateway),
  })
}

function openJwksCache(
  gateway: Gateway,
  { name, issuerUrl, caCertPath, authTokenFile, allowPrivateIP }: CommonOptions,
  { jwksUrl, keysMaxStale }: KeyOptions,
  { fetch, bearerTo }: Egress,
): JwksCache {
  const onDiscovered = (url: string): void => {
    // The token of `authTokenFile` is for the provider, and its metadata may name another host.
    if (new URL(url).origin === new URL(issuerUrl).origin) bearerTo.add(url)
  }
  const metadata = gateway.use(IssuerMetadata)
  if (jwksUrl === undefined) gateway.onStart(() => requireDiscovery(metadata()))
  // The name holds all options that decide where keys come from: a reload that changes one fetches the keys anew.
  const origin = JSON.stringify([issuerUrl, jwksUrl, caCertPath, authTokenFile, allowPrivateIP])
  const latest = gateway.share(`keys ${origin}`, (): LatestKeys => ({ fetched: undefined, at: 0 }))
  const jwks = new JwksCache({
    provider: name,
    latest,
    source: new JwksSource({ issuer: issuerUrl, jwksUrl, fetch, metadata, onDiscovered }),
    maxStale: keysMaxStale,
    log: gateway.log,
    fetches: gateway.meter.counter('key_fetches_total', "Fetches of a provider's keys", [
      'provider',
      'outcome',
    ]),
  })
  gateway.onStart(() => jwks.start())
  gateway.onStop(() => jwks.stop())
  return jwks
}

function requireDiscovery(metadata: readonly IssuerMetadata[]): void {
  if (metadata.length > 0) return
  const message = 'is needed to find the keys; or add `use: discovery/issuer` to the list'
  throw new ConfigError([{ place: 'jwksUrl', message }])
}

function openIntrospector(
  gateway: Gateway,
  { name }: CommonOptions,
  options: IntrospectionOptions,
  { fetch }: Egress,
): Introspector | undefined {
  const { introspectionUrl: url } = options
  if (url === undefined) return undefined
  const clientSecret = openSecret(gateway, options)
  gateway.onStop(() => clientSecret?.close())
  return new Introspector({
    provider: name,
    url,
    clientId: options.clientId,
    clientSecret,
    fetch,
    log: gateway.log,
    outcomes: gateway.meter.counter('introspections_total', 'Introspections of tokens, by outcome', [
      'provider',
      'outcome',
    ]),
  })
}

function openSecret(
  gateway: Gateway,
  { clientSecret, clientSecretFile }: IntrospectionOptions,
): Secret | undefined {
  const file = gateway.path(clientSecretFile)
  try {
    return secretFrom({ value: clientSecret, file }, { log: gateway.log, scrubber: gateway.scrubber })
  } catch (error) {
    throw withOption(error, { SECRET_EMPTY: 'clientSecretFile' })
  }
}

function policyFrom(
  { issuerUrl, audience, clockTolerance }: CommonOptions,
  optional: ClaimPolicy['optional'],
): ClaimPolicy {
  return { issuer: issuerUrl, audience, tolerance: clockTolerance / 1000, optional }
}

// In RFC 7662 every claim of a response is optional. Only `exp` is not needed, since the response has `active`.
function optionalIn(introspection: IntrospectionOptions | undefined): ClaimPolicy['optional'] {
  const { requireIssuer = true, requireAudience = true } = introspection ?? {}
  return ['exp', ...(requireIssuer ? [] : ['iss' as const]), ...(requireAudience ? [] : ['aud' as const])]
}

const OK: ReturnType<Health['check']> = { status: 'ok' }

const worst = (
  ...states: readonly (ReturnType<Health['check']> | undefined)[]
): ReturnType<Health['check']> => states.find((state) => state !== undefined && state.status !== 'ok') ?? OK
