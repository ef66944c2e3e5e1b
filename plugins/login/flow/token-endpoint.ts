import { type ClientAuth, ClientSecretPost, None, type ServerMetadata } from 'openid-client'
import { basicAuthorization, isJsonObject, type JsonObject, type Secret } from 'sallyport/toolkit'

// RFC 8414, section 2: without this field, Basic is supported. Not used through openid-client, which encodes a dash as
// `%2D`: many issuers do not decode that.
export function authentication(
  server: ServerMetadata,
  clientId: string,
  secret: Secret | undefined,
): ClientAuth {
  if (secret === undefined) return None()
  const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const posts = !supported.includes('client_secret_basic') && supported.includes('client_secret_post')
  return (...request) => {
    const [, , , headers] = request
    if (posts) ClientSecretPost(secret.reveal())(...request)
    else headers.set('authorization', basicAuthorization(clientId, secret.reveal()))
  }
}

/**
 * The response of a token endpoint as RFC 6749 has it (5.1 and 5.2). Plain OAuth providers answer with a form, unless the
 * request accepts nothing but JSON, and some do so always; GitHub reports errors with status 200.
 */
export async function standardResponse(response: Response): Promise<Response> {
  // From a response with a challenge openid-client reads only the challenge, but the error is in the body.
  response.headers.delete('www-authenticate')
  if (response.status !== 200) return response
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(response.headers.get('content-type') ?? '')
  const text = await response.clone().text()
  const answer = isForm ? formIn(text) : jsonIn(text)
  if (answer === undefined) return response
  if (typeof answer['error'] === 'string' && answer['access_token'] === undefined)
    return Response.json(answer, { status: 400 })
  return isForm ? Response.json(answer) : response
}

function formIn(text: string): JsonObject {
  const form = Object.fromEntries(new URLSearchParams(text))
  const { expires_in: seconds } = form
  return seconds === undefined ? form : { ...form, expires_in: Number(seconds) }
}

function jsonIn(text: string): JsonObject | undefined {
  try {
    const answer: unknown = JSON.parse(text)
    return isJsonObject(answer) ? answer : undefined
  } catch {
    return undefined
  }
}
