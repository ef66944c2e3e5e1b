import type { IncomingMessage } from 'node:http'
import type { Log } from 'sallyport'
import { type EventStreamParser, type ParsedEvent, TOO_LONG } from 'sallyport/toolkit'
import type { Call } from './call.js'
import { type Message, readMessage } from './messages.js'

// Milliseconds that a target may still send after the response.
const AFTER_RESPONSE = 2_000

/**
 * Reads an event stream to its end and passes its messages on, one by one. A stream that breaks off counts as ended,
 * and so does one with an event for which `onOther` throws.
 */
export async function readEvents(
  stream: IncomingMessage,
  events: EventStreamParser,
  onMessage: (message: Message) => Promise<void>,
  log: Log,
  onOther?: (event: ParsedEvent) => void,
): Promise<void> {
  events.restart()
  try {
    for await (const chunk of stream) {
      for (const event of events.parse(chunk)) {
        if (event === TOO_LONG)
          log.error('a message of the target was longer than allowed; the bridge dropped it')
        else if (event.name === 'message') await passMessage(event.data, onMessage, log)
        else onOther?.(event)
      }
    }
  } catch (error) {
    log.debug({ err: error }, 'an event stream of the target broke off')
  }
}

/** Passes bytes on only if they are a message: a client could misread the lines after anything else. */
export async function passMessage(
  bytes: Buffer,
  onMessage: (message: Message) => Promise<void>,
  log: Log,
): Promise<void> {
  const message = readMessage(bytes)
  if ('code' in message)
    log.error(
      { problem: message.message },
      'the target sent something that is not a message; the bridge dropped it',
    )
  else await onMessage(message)
}

/** Ends a stream some time after the response: otherwise a target could hold a connection for each call. */
export function endAfterResponse(stream: IncomingMessage, { closed }: Call): void {
  void closed.then(() => {
    if (stream.closed) return
    const timer = setTimeout(() => stream.destroy(), AFTER_RESPONSE)
    stream.once('close', () => clearTimeout(timer))
  })
}
