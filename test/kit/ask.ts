import { once } from 'node:events'
import { type Agent, get, type IncomingMessage } from 'node:http'

/** The whole response to a GET, by default of a connection of its own. */
export async function ask(url: string, agent?: Agent): Promise<IncomingMessage & { text: string }> {
  const asked = get(url, { ...(agent !== undefined && { agent }) })
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return Object.assign(response, { text })
}
