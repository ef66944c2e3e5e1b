import type { Examination, ExaminedTls, GreetOptions, InitializeResponse } from 'sallyport'
import { examineTlsFiles, messageOf } from 'sallyport/toolkit'
import type { TlsSettings } from './options.js'
import { targetTlsFiles, tlsPaths } from './target-tls.js'

interface Settings extends TlsSettings {
  readonly target: string
}

/** Sends the target an `initialize` request without a token, and follows the metadata of its challenge. */
export async function examineTarget(examination: Examination, settings: Settings): Promise<void> {
  const { probes, ok, wrong } = examination
  const { target } = settings
  const tls = examineFiles(examination, settings)
  if (tls === undefined || !(await probes.reach(target, { ...tls, caOption: 'targetCaCert' }))) return
  try {
    const greeting = await probes.greet(target, tls)
    const { status } = greeting
    if (status === 401) {
      ok('target', 'it asks for a token')
      await examineCredential(examination, target, greeting, tls)
    } else if (isSuccess(status)) ok('target', `it responds without a token (${status})`)
    else await examineRefusal(examination, target, status, tls)
  } catch (error) {
    const message = messageOf(error)
    const wantsCertificate =
      /certificate required|bad certificate|handshake failure|client certificate/i.test(message)
    const advice = wantsCertificate
      ? 'give the target a client certificate that it accepts: targetClientCert and targetClientKey'
      : 'look into the log of the target'
    wrong('target', 'TARGET_FAILED', `no response: ${message}`, advice)
  }
}

/** Checks the operator's certificate files; undefined when the gateway would not start with them. */
function examineFiles(examination: Examination, settings: Settings): ExaminedTls | undefined {
  const { path } = examination
  const isSecure = settings.target.startsWith('https:')
  if (examineTlsFiles(examination, (files) => targetTlsFiles(files, settings, isSecure)) === undefined)
    return undefined
  return tlsPaths(settings, path)
}

/** Checks the credential that the gateway would send, as far as possible without a login. */
async function examineCredential(
  examination: Examination,
  target: string,
  greeting: InitializeResponse,
  tls: ExaminedTls,
): Promise<void> {
  const { probes, around, ok, wrong } = examination
  const bearer = around.find((facts) => facts.bearer !== undefined)?.bearer?.()
  if (bearer === undefined) {
    const login = around.find(({ signsIn }) => signsIn !== undefined)?.signsIn
    if (login === undefined && around.some((facts) => facts.hasCredential)) return
    const hasClient = around.some((facts) => facts.hasClient)
    await probes.resource(target, greeting.challenge, login && { ...login, hasClient })
    return
  }
  const { status, challenge } = await probes.greet(target, { ...tls, bearer })
  if (status !== 401 && status !== 403) {
    if (isSuccess(status)) ok('credential', `the target takes the token (${status})`)
    else await examineRefusal(examination, target, status, { ...tls, bearer })
    return
  }
  const error = /error="?([\w-]+)/.exec(challenge ?? '')?.[1]
  const detail = `the target refuses the token of the gateway (${[status, error].filter(Boolean).join(', ')})`
  const advice =
    status === 401
      ? 'get a new one, and check that it was issued for this server'
      : 'get one with more scopes, or the right of its owner to use this server'
  wrong('credential', 'CREDENTIAL_REFUSED', detail, advice)
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300

/**
 * Finds why the target refuses. With protection against DNS rebinding a server refuses most host names, but
 * `localhost`.
 */
async function examineRefusal(
  { probes, wrong }: Examination,
  target: string,
  status: number,
  options: GreetOptions,
): Promise<void> {
  if ([400, 403, 421].includes(status)) {
    const { host, port } = new URL(target)
    const local = port === '' ? 'localhost' : `localhost:${port}`
    const other = host === local ? undefined : await probes.greet(target, { ...options, host: local })
    if (other !== undefined && other.status !== status) {
      const detail = `it refuses the Host ${host} (${status}), and takes ${local} (${other.status})`
      const advice = `let it accept ${host}, or use http://${local} as target`
      wrong('host', 'HOST_REFUSED', detail, advice)
      return
    }
  }
  if (status >= 300 && status < 400) {
    const detail = `it redirects an initialize request (${status}), and not all clients follow redirects`
    const advice = 'use the address of the redirect as target, often the same with a slash at its end'
    wrong('target', 'TARGET_REDIRECTS', detail, advice)
    return
  }
  const advice =
    status === 404 || status === 405
      ? 'correct the path: an MCP server often is at /mcp'
      : 'look into the log of the target'
  wrong('target', 'TARGET_FAILED', `it responds with ${status} to an initialize request`, advice)
}
