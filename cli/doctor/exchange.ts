import { basicAuthorization, createFetcher, insecureHttpAllowed, secretFrom } from 'sallyport'
import { z } from 'zod'
import { type Chart, messageOf } from '../findings/chart.js'
import { askFor, textIn } from './documents.js'

/** The options of an exchange that say who asks, and where. */
const exchange = z.object({
  url: z.string(),
  grantType: z.string(),
  clientId: z.string().optional(),
  clientSecret: z.string().optional(),
  clientSecretFile: z.string().optional(),
  clientAuthentication: z.enum(['basic', 'post']),
  allowPrivateIP: z.boolean().default(false),
})

/** Asks for an exchange of a token that nobody issued: what is refused then must be the token, and not the client. */
export async function examineExchange(
  chart: Chart,
  options: unknown,
  path: (path: string) => string,
): Promise<void> {
  const { data } = exchange.safeParse(options)
  if (data === undefined) return
  const { url, grantType, clientId, clientSecret, clientSecretFile, allowPrivateIP } = data
  const file = clientSecretFile === undefined ? undefined : path(clientSecretFile)
  const fetcher = createFetcher({ allowPrivate: allowPrivateIP, allowInsecureHttp: insecureHttpAllowed() })
  try {
    const secret = secretFrom({ value: clientSecret, file })
    const shown = secret?.reveal()
    secret?.close()
    const basic = clientId !== undefined && shown !== undefined && data.clientAuthentication === 'basic'
    const body = new URLSearchParams({ grant_type: grantType, subject_token: 'sallyport-doctor' })
    body.set('subject_token_type', 'urn:ietf:params:oauth:token-type:access_token')
    if (clientId !== undefined && !basic) body.set('client_id', clientId)
    if (shown !== undefined && !basic) body.set('client_secret', shown)
    const headers: Record<string, string> = basic
      ? { authorization: basicAuthorization(clientId, shown) }
      : {}
    const { status, document, failure } = await askFor(fetcher.fetch, url, { method: 'POST', headers, body })
    const error = document === undefined ? undefined : textIn(document, 'error')
    if (status === 401 || error === 'invalid_client' || error === 'unauthorized_client') {
      const advice = 'check the client and its secret, and that this client may exchange tokens'
      chart.wrong('exchange', 'EXCHANGE_REFUSED', `it refuses the client: ${error ?? failure}`, advice)
    } else if (error === 'unsupported_grant_type') {
      const advice = 'turn token exchange on there, or set the grant that it knows'
      chart.wrong('exchange', 'EXCHANGE_UNKNOWN', 'it knows no token exchange', advice)
    } else if (error === undefined) {
      const advice = 'check the URL: it must be the token endpoint'
      chart.wrong('exchange', 'EXCHANGE_FAILED', `no answer of a token endpoint: ${failure}`, advice)
    } else chart.ok('exchange', 'it knows the client, and refuses a token that nobody issued')
  } catch (error) {
    chart.wrong('files', 'FILE_UNREADABLE', messageOf(error), 'correct the path, or what is in the file')
  } finally {
    await fetcher.close()
  }
}
