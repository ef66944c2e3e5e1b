import type { IncomingMessage } from 'node:http'
import { EventStreamParser, type JsonObject, jsonObject, TOO_LONG } from 'sallyport/toolkit'

/** How many bytes may still be read. */
export interface ByteBudget {
  left: number
}

/** The JSON-RPC response to a request, from a body of JSON or out of a stream of events; nothing when there is none. */
export async function answerIn(
  response: IncomingMessage,
  id: number,
  budget: ByteBudget,
): Promise<JsonObject | undefined> {
  const isStream = /^text\/event-stream\b/i.test(response.headers['content-type'] ?? '')
  const events = new EventStreamParser(budget.left)
  const pieces: Buffer[] = []
  try {
    for await (const given of response) {
      const piece: Buffer = given
      budget.left -= piece.length
      if (budget.left < 0) throw new Error('its lists are too long to be read here')
      if (!isStream) pieces.push(piece)
      else {
        for (const event of events.parse(piece)) {
          const answer = event === TOO_LONG ? undefined : jsonObject(event.data.toString())
          if (answer?.['id'] === id) return answer
        }
      }
    }
    return isStream ? undefined : jsonObject(Buffer.concat(pieces).toString())
  } finally {
    // A stream may go on without end.
    response.destroy()
  }
}
