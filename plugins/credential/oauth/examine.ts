import type { Examination } from 'sallyport'
import { messageOf } from 'sallyport/toolkit'
import { CallbackListener } from './callback-listener.js'
import type { OAuthOptions } from './options.js'

/** Checks what signing in needs: the callback port, and the configured authorization server. */
export async function examineLogin(
  examination: Examination,
  { issuer, tokenUrl, grant, callbackPort, callbackPortFixed }: OAuthOptions,
): Promise<void> {
  const { probes, around } = examination
  const redirects = grant === 'authorization_code'
  if (redirects && callbackPort > 0) await examineCallback(examination, callbackPort, callbackPortFixed)
  if (tokenUrl !== undefined) await probes.reach(tokenUrl)
  // Without an issuer it is found by the target's metadata.
  const hasClient = around.some((facts) => facts.hasClient)
  if (issuer !== undefined) await probes.authorizationServer(issuer, { hasClient, redirects })
}

async function examineCallback(
  { ok, warning, wrong }: Examination,
  port: number,
  fixed: boolean,
): Promise<void> {
  try {
    await CallbackListener.requireFreePort(port)
    ok('callback', `port ${port} is free for the browser to return to`)
  } catch (error) {
    const detail = messageOf(error)
    if (fixed) {
      const advice = 'stop the program that uses it (another gateway?), or set --remote-auth-callback-port'
      wrong('callback', 'CALLBACK_BUSY', detail, advice)
    } else warning('callback', 'CALLBACK_BUSY', detail, 'another free port is used then')
  }
}
