import type { FastifyReply } from 'fastify'
import { LONGEST_WAIT } from 'sallyport/toolkit'

/** Destroys the connection of a response when the caller's token expires, if it does. */
export function endWithToken({ raw, request }: FastifyReply): void {
  const { expiresAt } = request.identity ?? {}
  if (expiresAt === undefined) return
  let timer: NodeJS.Timeout | undefined
  const wait = (): void => {
    timer = setTimeout(check, Math.min(expiresAt * 1000 - Date.now(), LONGEST_WAIT))
  }
  const check = (): void => {
    // Not the inverse comparison: NaN has to count as expired.
    if (expiresAt * 1000 > Date.now()) wait()
    else raw.destroy()
  }
  raw.on('close', () => clearTimeout(timer))
  wait()
}
