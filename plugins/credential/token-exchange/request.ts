import { basicAuthorization, type Secret } from 'sallyport/toolkit'
import { type ExchangeOptions, nameOf, type RequestField } from './options.js'

/** The secrets of a request; their files may change. */
export interface ExchangeSecrets {
  readonly client: Secret | undefined
  readonly actor: Secret | undefined
}

type Field = [name: string, value: string]

/** Builds token requests (RFC 8693, 2.1). All fields but the tokens and secrets are built once. */
export class ExchangeRequest {
  private readonly fixed: readonly Field[]
  private readonly headers: Readonly<Record<string, string>>

  constructor(
    private readonly options: ExchangeOptions,
    private readonly secrets: ExchangeSecrets,
  ) {
    const { grantType, subjectTokenType, requestedTokenType, audience, resource, scopes } = options
    this.fixed = [
      ...this.field('grant_type', grantType),
      ...this.field('requested_token_type', requestedTokenType),
      ...this.field('audience', audience),
      ...this.field('resource', resource),
      ...this.field('scope', scopes.length === 0 ? undefined : scopes.join(' ')),
      ...Object.entries(options.extraFields),
      ...this.field('subject_token_type', subjectTokenType),
    ]
    const form = options.requestFormat === 'form' ? 'application/x-www-form-urlencoded' : 'application/json'
    this.headers = { accept: 'application/json', 'content-type': form }
  }

  for(subject: string): RequestInit {
    const fields = [...this.fixed, ...this.field('subject_token', subject), ...this.actor(), ...this.client()]
    const body =
      this.options.requestFormat === 'form'
        ? new URLSearchParams(fields).toString()
        : JSON.stringify(Object.fromEntries(fields))
    return { method: 'POST', headers: { ...this.headers, ...this.authorization() }, body }
  }

  private actor(): readonly Field[] {
    const { actor } = this.secrets
    if (actor === undefined) return []
    return [
      ...this.field('actor_token', actor.reveal()),
      ...this.field('actor_token_type', this.options.actorTokenType),
    ]
  }

  // In the body or in the header, never in both (RFC 6749, 2.3).
  private client(): readonly Field[] {
    const { clientId, clientAuthentication } = this.options
    const { client } = this.secrets
    if (clientId === undefined) return []
    if (client === undefined) return this.field('client_id', clientId)
    if (clientAuthentication === 'basic') return []
    return [...this.field('client_id', clientId), ...this.field('client_secret', client.reveal())]
  }

  private authorization(): Readonly<Record<string, string>> {
    const { clientId, clientAuthentication } = this.options
    const { client } = this.secrets
    if (clientId === undefined || client === undefined || clientAuthentication !== 'basic') return {}
    return { authorization: basicAuthorization(clientId, client.reveal()) }
  }

  private field(field: RequestField, value: string | undefined): readonly Field[] {
    const name = nameOf(field, this.options.requestNames)
    return value === undefined || name === undefined ? [] : [[name, value]]
  }
}
