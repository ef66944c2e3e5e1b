import { once } from 'node:events'
import { type Agent, get, type IncomingMessage } from 'node:http'

/** Sends a GET, on a new connection without an `agent`, and returns the whole response. */
export async function ask(url: string, agent?: Agent): Promise<IncomingMessage & { text: string }> {
  const request = get(url, { ...(agent !== undefined && { agent }) })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return Object.assign(response, { text })
}
