import type { Examination } from 'sallyport'
import { messageOf } from 'sallyport/toolkit'
import { CallbackListener, redirectUri } from './callback-listener.js'
import type { OAuthOptions } from './options.js'

/** Checks the callback port and the configured authorization server, which a sign-in needs. */
export async function examineLogin(
  examination: Examination,
  { issuer, tokenUrl, grant, callbackPort, callbackPortFixed }: OAuthOptions,
): Promise<void> {
  const { probes, around } = examination
  const redirects = grant === 'authorization_code'
  const hasClient = around.some((facts) => facts.hasClient)
  if (redirects && callbackPort > 0)
    await examineCallback(examination, { port: callbackPort, fixed: callbackPortFixed, hasClient })
  if (tokenUrl !== undefined) await probes.reach(tokenUrl)
  // Without an issuer the gateway finds it in the target's metadata.
  if (issuer !== undefined) await probes.authorizationServer(issuer, { hasClient, redirects })
}

async function examineCallback(
  { ok, warning, wrong }: Examination,
  { port, fixed, hasClient }: { port: number; fixed: boolean; hasClient: boolean },
): Promise<void> {
  try {
    await CallbackListener.requireFreePort(port)
    const registered = `; ${redirectUri(port)} has to be registered at the issuer for the client`
    ok('callback', `port ${port} is free for the browser to return to${hasClient ? registered : ''}`)
  } catch (error) {
    const detail = messageOf(error)
    if (fixed) {
      const advice = 'stop the program that uses it (another gateway?), or set --remote-auth-callback-port'
      wrong('callback', 'CALLBACK_BUSY', detail, advice)
    } else
      warning('callback', 'CALLBACK_BUSY', detail, 'no action is needed: the sign-in uses another free port')
  }
}
