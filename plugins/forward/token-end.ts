import type { FastifyReply } from 'fastify'
import { LONGEST_WAIT, observationOf } from 'sallyport/toolkit'

/** Destroys the connection of a response when the caller's token expires, if it does. */
export function endWithToken({ raw, request }: FastifyReply): void {
  const { expiresAt } = request.identity ?? {}
  if (expiresAt === undefined) return
  let timer: NodeJS.Timeout | undefined
  // Counted down, and not compared with the time of day: that may be set back.
  let left = expiresAt * 1000 - Date.now()
  const wait = (): void => {
    const part = Math.min(left, LONGEST_WAIT)
    left -= part
    timer = setTimeout(check, part)
  }
  const check = (): void => {
    // Not the inverse comparison: NaN has to count as expired.
    if (left > 0) {
      wait()
      return
    }
    const observed = observationOf(request)
    // Not by its caller: what has no answer yet would look as if that had left.
    if (observed?.isAnswered === false) observed.restFailed('token_expired')
    raw.destroy()
  }
  raw.on('close', () => clearTimeout(timer))
  wait()
}
