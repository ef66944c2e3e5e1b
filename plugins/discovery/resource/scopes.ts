import { type Gateway, type Identity, Refusal } from 'sallyport'

/** Responds with 403 to a caller whose token lacks a scope, and names all that are needed at once. */
export function requireScopes(gateway: Gateway, required: readonly string[]): void {
  const challenge = { scope: required.join(' ') }
  const hasAll = ({ scopes = [] }: Identity): boolean => required.every((scope) => scopes.includes(scope))
  const refusalOf = ({ provider }: Identity): Refusal =>
    new Refusal(403, 'INSUFFICIENT_SCOPE', 'the token lacks a scope that is needed here', {
      challenge,
      reasons: [{ provider, cause: 'scope' }],
    })

  gateway.http.addHook('onRequest', (request, _reply, done) => {
    const { identity, isOpen } = request
    const authenticate = request.authenticate.bind(request)
    // A route below a public path may ask for a caller by itself, such as one that writes.
    request.authenticate = async (credentials) => {
      const caller = await authenticate(credentials)
      if (hasAll(caller)) return caller
      throw refusalOf(caller)
    }
    // On a public route nobody is authenticated.
    if (identity === undefined || hasAll(identity)) return done()
    if (isOpen) {
      // It admits everybody, but a session without the scope gets no more than that.
      request.identity = undefined
      return done()
    }
    done(refusalOf(identity))
  })
}
