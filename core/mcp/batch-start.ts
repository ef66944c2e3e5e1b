import type { FastifyRequest } from 'fastify'
import {
  askForBody,
  BODY_DEADLINE,
  bodyIncomplete,
  bodyTooSlow,
  hasBody,
  responseOf,
  wholeBodyOf,
} from '../http/body.js'
import { isPromise } from '../toolkit/deadline.js'

const BATCH = 0x5b
// White space, byte order marks and the zero bytes of UTF-16: some servers accept these too.
const SKIPPED: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20, 0, 0xef, 0xbb, 0xbf, 0xfe, 0xff])
const OTHER_CHARSET = /charset[\t ]*=[\t ]*"?(?!utf-8)/i

type Raw = FastifyRequest['raw']

/**
 * Whether a body could be a batch, by its first byte; the body can still be streamed after that. A body that a server
 * would have to decode first could always be a batch.
 */
export function couldBeBatch(request: FastifyRequest, maxBytes: number): boolean | Promise<boolean> {
  const { raw, headers } = request
  if (!hasBody(raw)) return false
  const { 'content-type': type = 'json', 'content-encoding': coding } = headers
  if (/json/i.test(type) && (coding !== undefined || OTHER_CHARSET.test(type))) return true
  // Waiting for the first byte of an empty body would consume its `end`, for which the next reader waits.
  if (raw.readableLength > 0 || raw.complete) return startsBatch(request, maxBytes)
  askForBody(request, responseOf(request))
  return firstBytes(raw).then(() => startsBatch(request, maxBytes))
}

function startsBatch(request: FastifyRequest, maxBytes: number): boolean | Promise<boolean> {
  const { raw } = request
  if (raw.readableLength === 0) return false
  const start: Buffer = raw.read()
  raw.unshift(start)
  const first = firstOf(start)
  if (first !== undefined) return first === BATCH
  const whole = wholeBodyOf(request, maxBytes)
  return isPromise(whole) ? whole.then((body) => firstOf(body) === BATCH) : firstOf(whole) === BATCH
}

const firstOf = (bytes: Buffer): number | undefined => bytes.find((byte) => !SKIPPED.has(byte))

/** Waits until the first bytes of a body have arrived, or it has ended. */
function firstBytes(raw: Raw): Promise<void> {
  if (raw.destroyed || raw.readableEnded) return Promise.reject(bodyIncomplete())
  return new Promise((resolve, reject) => {
    const settle = (end: () => void): void => {
      clearTimeout(timer)
      raw.off('readable', onReadable).off('close', onClose)
      end()
    }
    const onReadable = (): void => settle(resolve)
    const onClose = (): void => settle(() => reject(bodyIncomplete()))
    const timer = setTimeout(() => settle(() => reject(bodyTooSlow())), BODY_DEADLINE)
    raw.on('readable', onReadable).on('close', onClose)
  })
}
