import type { IncomingMessage } from 'node:http'
import { Refusal } from 'sallyport'
import { bodyTooLarge } from 'sallyport/toolkit'

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
  if (length > maxBytes) throw bodyTooLarge()
  return { length, chunked: false }
}

const unsupportedCoding = (): Refusal =>
  new Refusal(501, 'TRANSFER_CODING', 'the only supported transfer coding is chunked')
