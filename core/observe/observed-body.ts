import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../contract/errors.js'
import type { McpMessage } from '../contract/message.js'
import { messageRead, readMessageFrom } from '../mcp/message.js'

/** Longer bodies are not parsed: parsing would block all other requests. */
export const MAX_OBSERVED_BODY = 1024 * 1024
/** Up to this length a body may wait, unparsed, until its request has ended. */
const MAX_WAITING = 16 * 1024

/** The body of an observed request, parsed when an observer first reads the message. */
export class ObservedBody {
  unparsed: Buffer | undefined
  /** The gateway passes the body on as it arrives: its calls are known only at its end. */
  isComing = false
  private failure: string | undefined

  constructor(private readonly request: FastifyRequest) {}

  get message(): McpMessage | undefined {
    this.parse()
    return messageRead(this.request)
  }

  /** The cause why the body could not be read. */
  get unreadable(): string | undefined {
    this.parse()
    return this.failure
  }

  get isSmall(): boolean {
    return this.unparsed !== undefined && this.unparsed.length <= MAX_WAITING
  }

  /** Takes the body, and returns whether there is anything to parse. Only a POST has calls. */
  take(body: Buffer | undefined): boolean {
    if (messageRead(this.request) !== undefined) return false
    const isRead = body !== undefined && body.length <= MAX_OBSERVED_BODY && this.request.method === 'POST'
    this.failure = isRead ? undefined : 'body_not_read'
    this.unparsed = isRead ? body : undefined
    return isRead
  }

  parse(): void {
    const { unparsed } = this
    if (unparsed === undefined) return
    this.unparsed = undefined
    try {
      readMessageFrom(this.request, unparsed)
    } catch (error) {
      this.failure = causeOf(error)
    }
  }
}

export const causeOf = (error: unknown): string =>
  error instanceof GatewayError ? error.code.toLowerCase() : 'error'
