import { UpstreamError } from 'sallyport'

export const lateLogin = (timeout: number): UpstreamError =>
  new UpstreamError('LOGIN_TIMEOUT', `nobody signed in to the target within ${timeout / 1000} s`, {
    statusCode: 503,
    retryAfter: 5,
  })

export const looping = (): UpstreamError =>
  new UpstreamError('LOGIN_LOOP', 'the target accepts the tokens of none of many new logins', {
    statusCode: 503,
    retryAfter: 60,
  })

/** What only failed on the way may work the next time. Who was not reached is for the log. */
export function unavailable(cause: unknown): unknown {
  if (!(cause instanceof UpstreamError) || !cause.code.startsWith('EGRESS_')) return cause
  const detail = { statusCode: 503, retryAfter: 5, cause } as const
  return new UpstreamError(
    'LOGIN_UNAVAILABLE',
    'who gives credentials for the target was not reached',
    detail,
  )
}
