import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { listening } from '#kit/listening.js'
import { auditing } from './auditing.js'

export interface Received {
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A receiver with this handler, by default with a 200, and the requests that reached it. */
export async function receiver(
  t: TestContext,
  answer: (response: ServerResponse, received: readonly Received[]) => void = () => {},
) {
  const received: Received[] = []
  const origin = await listening(t, (request, response) => {
    void text(request).then((body) => {
      received.push({ headers: request.headers, body })
      answer(response, received)
      if (!response.headersSent && !response.writableEnded) response.end()
    })
  })
  return { url: `${origin}/in`, received }
}

/** A list with `audit/http`. */
export const sending = (
  t: TestContext,
  options: Readonly<Record<string, unknown>>,
  more?: Parameters<typeof auditing>[2],
) => auditing(t, { use: 'audit/http', with: { allowPrivateIP: true, ...options } }, more)
