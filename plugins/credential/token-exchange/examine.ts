import type { Examination } from 'sallyport'
import {
  createFetcher,
  insecureHttpAllowed,
  messageOf,
  Secret,
  type SecretLocations,
  secretFrom,
} from 'sallyport/toolkit'
import type { ExchangeOptions } from './options.js'
import { ExchangeRequest } from './request.js'

/** Requests an exchange of a made-up token: the endpoint must refuse the token, and not the client. */
export async function examineExchange(examination: Examination, options: ExchangeOptions): Promise<void> {
  const { path, probes } = examination
  const { url, caCertPath, allowPrivateIP: allowPrivate } = options
  const caFile = path(caCertPath)
  const privateOption = allowPrivate ? undefined : 'allowPrivateIP: true'
  if (!(await probes.reach(url, { caFile, privateOption }))) return
  const fetcher = createFetcher({ caFile, allowPrivate, allowInsecureHttp: insecureHttpAllowed() })
  try {
    const client = readSecret({ value: options.clientSecret, file: path(options.clientSecretFile) })
    const actor = readSecret({ file: path(options.actorTokenFile) })
    const request = new ExchangeRequest(options, { client, actor }).for('sallyport-doctor')
    reportResult(examination, await probes.ask(fetcher.fetch, url, request))
  } catch (error) {
    const message = messageOf(error)
    examination.wrong('files', 'FILE_UNREADABLE', message, 'correct the path or the content of the file')
  } finally {
    await fetcher.close()
  }
}

// Closed at once, so that it does not watch its file.
function readSecret(locations: SecretLocations): Secret | undefined {
  const secret = secretFrom(locations)
  const text = secret?.reveal()
  secret?.close()
  return text === undefined ? undefined : new Secret(text)
}

function reportResult(
  { ok, wrong }: Examination,
  { status, document, failure }: Awaited<ReturnType<Examination['probes']['ask']>>,
): void {
  const error = typeof document?.['error'] === 'string' ? document['error'] : undefined
  if (status === 401 || error === 'invalid_client' || error === 'unauthorized_client') {
    const advice = 'check the client and its secret, and that this client may exchange tokens'
    wrong('exchange', 'EXCHANGE_REFUSED', `the endpoint refused the client: ${error ?? failure}`, advice)
  } else if (error === 'unsupported_grant_type') {
    const advice = 'enable token exchange at the provider, or set the grant that it supports'
    wrong('exchange', 'EXCHANGE_UNKNOWN', 'the endpoint does not support this grant', advice)
  } else if (error === undefined) {
    const advice = 'check the URL: it must be the token endpoint'
    wrong('exchange', 'EXCHANGE_FAILED', `not a response of a token endpoint: ${failure}`, advice)
  } else ok('exchange', 'the endpoint knows the client, and refuses a made-up token')
}
