import { z } from 'zod'
import type { Answer } from './registry-client.js'

/** The reason why nothing changed, and advice for the user. */
export interface RegistryRefusal {
  readonly status: number
  readonly code: string | undefined
  readonly message: string
  readonly advice: string
}

const text = z.string().min(1).optional().catch(undefined)
// From a gateway in between, which answers a POST as a JSON-RPC message.
const rpcBody = z
  .object({ error: z.object({ message: z.string(), data: z.object({ error: z.string() }) }) })
  .transform(({ error: { message, data } }) => ({ ...data, error_description: message }))
// The error of a Sallyport registry, and the problem details of other registries (RFC 9457).
const errorBody = z
  .object({
    error: text,
    error_description: text,
    detail: text,
    title: text,
    issues: z.array(z.object({ path: z.string(), message: z.string() })).catch([]),
  })
  .catch({ issues: [] })

const REGISTRY =
  '--registry: it names one registry, such as https://registry.example.com/registry/default, and not its host alone'

const ADVICE: Readonly<Record<number, string>> = {
  401: 'sign in again after `sallyport auth logout TARGET`, with the target as `sallyport auth list` shows it, or take another --token-file',
  403: 'ask the operator of the registry for a rule in its `publishers`, or use a name that a rule allows you',
  404: `check ${REGISTRY}`,
  409: 'a published version never changes: raise `version` in the file',
  413: 'make the document smaller',
  422: 'correct the issues; `sallyport validate` shows the issues of a document too',
}

const UNCERTAIN = 'check in the registry whether it happened before you try again'

const OWN_CLIENT =
  'register a client with the identity provider by hand, and name it with --remote-auth-client-id'

const CODES: Readonly<Record<string, string>> = {
  registry_unknown: `correct ${REGISTRY}`,
  publications_not_taken:
    'use another registry, or ask the operator of this one to add a managed source, such as `{ name: published, managed: {} }`',
  client_missing: OWN_CLIENT,
  registration_refused: OWN_CLIENT,
  version_unknown: `correct the name or the version, or ${REGISTRY}`,
  name_taken: 'use another name: another source of this registry has this one',
  publication_uncertain: UNCERTAIN,
  target_reset: UNCERTAIN,
  target_timeout: UNCERTAIN,
  target_refused: 'correct the host or the port of --registry, or start the registry',
  target_dns: 'correct the host of --registry, or try again when the name server answers',
  target_tls:
    'name the authority of its certificate with --target-ca-cert, or correct --registry; --debug shows more',
  stored_not_served: 'look for the version in some seconds: it is stored, so do not publish it again',
}

/** The failures of a proxy's target, in words about a registry. */
const TARGET_FAILURES: Readonly<Record<string, string>> = {
  credential_refused: 'the token is not accepted',
  target_refused: 'nothing listens there',
  target_dns: 'its name does not resolve',
  target_tls: 'the TLS handshake with it failed',
}

export function refusalOf(answer: Answer): RegistryRefusal {
  const { retryAfter } = answer
  const body = rpcBody.safeParse(answer.body).data ?? answer.body
  const { error, error_description: described, detail, title, issues } = errorBody.parse(body)
  // A gateway reports a refused token as its own fault; here the token is the caller's.
  const status = error === 'credential_refused' ? 401 : answer.status
  const sentence = TARGET_FAILURES[error ?? ''] ?? described ?? detail ?? title ?? 'it gives no reason'
  const later = retryAfter === undefined ? 'later' : `in ${retryAfter} s`
  return {
    status,
    code: error,
    message: [sentence, ...issues.map(({ path, message }) => `${path}: ${message}`)].join('; '),
    advice: CODES[error ?? ''] ?? ADVICE[status] ?? `try again ${later}; --debug shows more`,
  }
}

/** A refusal as sentences for a person. */
export function refusalLines({ status, code, message, advice }: RegistryRefusal): readonly string[] {
  const who =
    advice === OWN_CLIENT
      ? 'sign-in is not possible'
      : status >= 500
        ? 'the registry cannot be reached, or fails'
        : 'the registry refuses'
  const what = [status, code].filter((part) => part !== undefined).join(' ')
  return [`sallyport: ${who} (${what}): ${message}`, `sallyport: ${advice}`]
}
