import { IssuerMetadata } from '../contract/capabilities/issuer-metadata.js'
import type { Fetch } from '../contract/fetch.js'
import { randomName } from './admission.js'
import { type CheckResult, type ConformanceSuite, firstFault, isObject, messageOf } from './requirement.js'

/** An issuer that no plugin knows: its metadata can only come from `fetch`. */
const unknownIssuer = (): string => `https://${randomName()}.invalid/tenant`

const documentOf = (issuer: unknown): Readonly<Record<string, unknown>> => ({
  issuer,
  jwks_uri: 'https://keys.invalid/jwks',
  authorization_endpoint: 'https://keys.invalid/authorize',
  token_endpoint: 'https://keys.invalid/token',
  response_types_supported: ['code'],
})

const serving =
  (body: unknown): Fetch =>
  async () =>
    Response.json(body)

/** The result of the plugin; an error counts as no result. */
const answerOf = async (metadata: IssuerMetadata, issuer: string, fetch: Fetch): Promise<unknown> =>
  Promise.resolve()
    .then(() => metadata(issuer, fetch))
    .catch(() => undefined)

/** Documents of another issuer, by as little as a slash, and documents without an issuer. */
const untrusted = (issuer: string): readonly unknown[] => [
  documentOf(`${issuer}/`),
  documentOf(issuer.toUpperCase()),
  documentOf('https://other.invalid'),
  documentOf([issuer]),
  documentOf(undefined),
  [documentOf(issuer)],
  null,
]

export const issuerMetadataConformance: ConformanceSuite<IssuerMetadata> = {
  capability: IssuerMetadata,
  requirements: [
    {
      code: 'FETCH_BYPASSED',
      statement: 'reads only with the given `fetch`',
      advice:
        "use the parameter, never the global `fetch`: it keeps the provider's rules on addresses and certificates",
      async check(metadata) {
        const issuer = unknownIssuer()
        let calls = 0
        const fetch: Fetch = async () => {
          calls++
          return Response.json(documentOf(issuer))
        }
        try {
          await metadata(issuer, fetch)
          return undefined
        } catch (error) {
          return calls > 0 ? undefined : `it throws before any request: ${messageOf(error)}`
        }
      },
    },
    {
      code: 'METADATA_MALFORMED',
      statement: 'returns the document of the issuer, or nothing',
      advice: 'return the object unchanged, or undefined for an unknown issuer',
      async check(metadata) {
        const issuer = unknownIssuer()
        const answer = await answerOf(metadata, issuer, serving(documentOf(issuer)))
        if (answer === undefined) return undefined
        return isObject(answer) && answer['issuer'] !== undefined
          ? undefined
          : 'it returns no document of an issuer'
      },
    },
    {
      code: 'ISSUER_MISMATCH',
      statement: 'throws when a document names another issuer, or none',
      advice: 'compare `issuer` byte for byte, and throw: other keys would be trusted (RFC 8414, 3.3)',
      awaits: untrusted('').length,
      check(metadata): Promise<CheckResult> {
        const issuer = unknownIssuer()
        return firstFault(untrusted(issuer), async (document) => {
          const answer = await answerOf(metadata, issuer, serving(document))
          return answer === undefined ? undefined : 'it returns a document that names another issuer, or none'
        })
      },
    },
  ],
}
