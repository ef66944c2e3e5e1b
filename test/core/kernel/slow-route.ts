import { once } from 'node:events'
import { type Agent, get, type IncomingMessage } from 'node:http'
import { definePlugin, type Gateway } from 'sallyport'

/** A public route at `/slow` whose response waits for a call. */
export function slowRoute() {
  let finish: (text: string) => void = () => {}
  let arrive: () => void = () => {}
  const arrival = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const answer = new Promise<string>((resolve) => {
    finish = resolve
  })
  const setup = ({ http }: Gateway): void => {
    http.get('/slow', { config: { public: true } }, () => {
      arrive()
      return answer
    })
  }
  const entry = { use: definePlugin({ name: 'slow', api: 1, setup }) }
  return { entry, arrival, finish: (text: string) => finish(text) }
}

export async function ask(url: string, agent?: Agent): Promise<IncomingMessage & { text: string }> {
  const asked = get(url, { ...(agent !== undefined && { agent }) })
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return Object.assign(response, { text })
}
