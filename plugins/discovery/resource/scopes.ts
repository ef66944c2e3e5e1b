import { type Gateway, Refusal } from 'sallyport'

/** Responds with 403 to a caller whose token lacks a scope, and names all that are needed at once. */
export function requireScopes(gateway: Gateway, required: readonly string[]): void {
  const challenge = { scope: required.join(' ') }
  gateway.http.addHook('onRequest', (request, _reply, done) => {
    const { identity, isOpen } = request
    const { provider = '', scopes = [] } = identity ?? {}
    // On a public route nobody is authenticated.
    if (identity === undefined || required.every((scope) => scopes.includes(scope))) return done()
    if (isOpen) {
      // It admits everybody, but a session without the scope gets no more than that.
      request.identity = undefined
      return done()
    }
    const reasons = [{ provider, cause: 'scope' }]
    done(
      new Refusal(403, 'INSUFFICIENT_SCOPE', 'the token lacks a scope that is needed here', {
        challenge,
        reasons,
      }),
    )
  })
}
