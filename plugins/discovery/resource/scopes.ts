import { type Gateway, Refusal } from 'sallyport'

/** Answers 403 to an accepted caller whose token lacks a scope, and names all that are needed at once. */
export function requireScopes(gateway: Gateway, required: readonly string[]): void {
  const challenge = { scope: required.join(' ') }
  gateway.http.addHook('onRequest', ({ identity }, _reply, done) => {
    const { provider = '', scopes = [] } = identity ?? {}
    // On a public route nobody was asked who they are.
    if (identity === undefined || required.every((scope) => scopes.includes(scope))) return done()
    const reasons = [{ provider, cause: 'scope' }]
    done(
      new Refusal(403, 'INSUFFICIENT_SCOPE', 'the token lacks a scope that is needed here', {
        challenge,
        reasons,
      }),
    )
  })
}
