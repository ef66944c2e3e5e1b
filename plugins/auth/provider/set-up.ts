import {
  Authenticator,
  ConfigError,
  type Fetch,
  type Gateway,
  Health,
  IssuerMetadata,
  ResourceMetadata,
  type Secret,
  secretFrom,
  type Verdict,
} from 'sallyport'
import type { ClaimPolicy } from './claims.js'
import { named, openEgress, refuseMistakes } from './egress.js'
import { explain } from './explanation.js'
import { Introspector } from './introspector.js'
import { KeyRing } from './key-ring.js'
import { KeySource } from './key-source.js'
import type { CommonOptions, IntrospectionOptions, KeyOptions } from './options.js'
import { TokenVerifier } from './verifier.js'

/** One provider: how its JWTs are verified here, how it is asked about tokens, or both. */
export interface ProviderSettings {
  readonly common: CommonOptions
  readonly keys?: KeyOptions | undefined
  readonly introspection?: IntrospectionOptions | undefined
}

/** What every plugin that is set up here provides. */
export const provided = [Authenticator, ResourceMetadata, Health]

/** Sets up one provider behind the gate. Every kind of provider is this, with parts of it left out. */
export function setUpProvider(gateway: Gateway, settings: ProviderSettings): void {
  const { common, keys, introspection } = settings
  refuseMistakes(gateway, settings)

  const bearerTo = new Set(
    [keys?.jwksUrl, introspection?.introspectionUrl].filter((url) => url !== undefined),
  )
  const egress = openEgress(gateway, common, bearerTo)
  gateway.onStop(() => egress.close())
  const verifier = openVerifier(gateway, settings, { fetch: egress.fetch, bearerTo })
  const { ring, introspector } = verifier.options
  ring?.onChange(() => verifier.forget())

  gateway.provide(Authenticator, authenticator(verifier))
  gateway.provide(ResourceMetadata, { authorization_servers: [common.issuerUrl] })
  const { id, scope } = gateway
  gateway.provide(Health, {
    name: scope === '' ? id : `${scope} ${id}`,
    check: () => worst(ring?.health(), introspector?.health()),
  })
}

/** The door of a verifier: a token that is known is answered at once. */
function authenticator(verifier: TokenVerifier): Authenticator {
  return {
    provider: verifier.options.name,
    authenticate({ credentials }) {
      if (credentials.kind === 'none') return MISSING
      if (credentials.kind === 'malformed') return MALFORMED
      return verifier.verdict(credentials.token, credentials.digest)
    },
    explain: (token) => explain(token, verifier),
  }
}

const MISSING: Verdict = { rejection: { kind: 'notMine', cause: 'missing' } }
const MALFORMED: Verdict = { rejection: { kind: 'notMine', cause: 'format' } }

interface Way {
  readonly fetch: Fetch
  /** Where the file token may go. */
  readonly bearerTo: Set<string>
}

function openVerifier(gateway: Gateway, settings: ProviderSettings, way: Way): TokenVerifier {
  const { common, keys, introspection } = settings
  return new TokenVerifier({
    name: common.name,
    policy: policyFrom(common, []),
    accessTokensOnly: keys?.requireAccessTokenType ?? false,
    ring: keys === undefined ? undefined : openRing(gateway, common, keys, way),
    introspector:
      introspection === undefined ? undefined : openIntrospector(gateway, common, introspection, way),
    introspectionPolicy: policyFrom(common, optionalIn(introspection)),
    introspectionTtl: introspection?.introspectionCacheTtl ?? 0,
    hits: gateway.meter.counter('remembered_tokens_total', 'Tokens that were known already', ['provider']),
  })
}

function openRing(
  gateway: Gateway,
  { name, issuerUrl }: CommonOptions,
  { jwksUrl, keysMaxStale }: KeyOptions,
  { fetch, bearerTo }: Way,
): KeyRing {
  const onDiscovered = (url: string): void => {
    // The file token is for the provider: where its metadata points to may be anybody.
    if (new URL(url).origin === new URL(issuerUrl).origin) bearerTo.add(url)
  }
  const metadata = gateway.use(IssuerMetadata)
  if (jwksUrl === undefined) gateway.onStart(() => refuseBlindness(metadata()))
  const ring = new KeyRing({
    provider: name,
    source: new KeySource({ issuer: issuerUrl, jwksUrl, fetch, metadata, onDiscovered }),
    maxStale: keysMaxStale,
    log: gateway.log,
    fetches: gateway.meter.counter('key_fetches_total', "Fetches of a provider's keys", [
      'provider',
      'outcome',
    ]),
  })
  gateway.onStart(() => ring.start())
  gateway.onStop(() => ring.stop())
  return ring
}

function refuseBlindness(metadata: readonly IssuerMetadata[]): void {
  if (metadata.length > 0) return
  const message = 'is needed, or `use: discovery/issuer` in the list: nothing else tells where the keys are'
  throw new ConfigError([{ place: 'jwksUrl', message }])
}

function openIntrospector(
  gateway: Gateway,
  { name }: CommonOptions,
  options: IntrospectionOptions,
  { fetch }: Way,
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
    answers: gateway.meter.counter('introspections_total', 'Answers of a provider about tokens', [
      'provider',
      'outcome',
    ]),
  })
}

function openSecret(
  gateway: Gateway,
  { clientSecret, clientSecretFile }: IntrospectionOptions,
): Secret | undefined {
  const file = clientSecretFile === undefined ? undefined : gateway.path(clientSecretFile)
  try {
    return secretFrom({ value: clientSecret, file }, { log: gateway.log, scrubber: gateway.scrubber })
  } catch (error) {
    throw named(error, { SECRET_EMPTY: 'clientSecretFile' })
  }
}

function policyFrom(
  { issuerUrl, audience, clockTolerance }: CommonOptions,
  optional: ClaimPolicy['optional'],
): ClaimPolicy {
  return { issuer: issuerUrl, audience, tolerance: clockTolerance / 1000, optional }
}

// RFC 7662 makes every claim of an answer optional. `exp` alone is not missed: the answer itself says `active`.
function optionalIn(introspection: IntrospectionOptions | undefined): ClaimPolicy['optional'] {
  const { requireIssuer = true, requireAudience = true } = introspection ?? {}
  return ['exp', ...(requireIssuer ? [] : ['iss' as const]), ...(requireAudience ? [] : ['aud' as const])]
}

const OK: ReturnType<Health['check']> = { status: 'ok' }

const worst = (
  ...states: readonly (ReturnType<Health['check']> | undefined)[]
): ReturnType<Health['check']> => states.find((state) => state !== undefined && state.status !== 'ok') ?? OK
