import type { IncomingMessage } from 'node:http'
import type { Log } from 'sallyport'
import type { Events } from './events.js'
import { TOO_LONG } from './lines.js'
import { type Message, readMessage } from './messages.js'

/** Reads an event stream to its end and hands its messages on, one after the other. A stream that breaks has ended. */
export async function readEvents(
  stream: IncomingMessage,
  events: Events,
  take: (message: Message) => Promise<void>,
  log: Log,
): Promise<void> {
  try {
    for await (const chunk of stream) {
      for (const event of events.cut(chunk)) {
        if (event === TOO_LONG) log.error('a message of the target was longer than is taken, and was dropped')
        else if (event.name === 'message') await takeMessage(event.data, take, log)
      }
    }
  } catch (error) {
    log.debug({ err: error }, 'an event stream of the target broke off')
  }
}

/** What is no message must not reach the client, whose next line would be misread. */
export async function takeMessage(
  bytes: Buffer,
  take: (message: Message) => Promise<void>,
  log: Log,
): Promise<boolean> {
  const message = readMessage(bytes)
  if ('code' in message)
    log.error({ problem: message.sentence }, 'the target sent what is no message; it was dropped')
  else await take(message)
  return !('code' in message)
}
