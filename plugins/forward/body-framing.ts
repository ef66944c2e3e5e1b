import type { IncomingMessage } from 'node:http'
import { Refusal } from 'sallyport'

/** How the head of a request frames its body. */
export interface BodyFraming {
  /** In bytes; undefined when the body is chunked. */
  readonly length: number | undefined
  readonly chunked: boolean
}

/** Node has already refused a request that frames its body twice. */
export function bodyFraming({ headers }: IncomingMessage, maxBytes: number): BodyFraming {
  const coding = headers['transfer-encoding']
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked') throw unsupportedCoding()
    return { length: undefined, chunked: true }
  }
  const length = Number(headers['content-length'] ?? 0)
  if (length > maxBytes) throw tooLarge()
  return { length, chunked: false }
}

export const tooLarge = (): Refusal =>
  new Refusal(413, 'BODY_TOO_LARGE', 'the body is larger than this gateway takes')

const unsupportedCoding = (): Refusal =>
  new Refusal(501, 'TRANSFER_CODING', 'the only supported transfer coding is chunked')
