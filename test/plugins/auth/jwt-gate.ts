import type { TestContext } from 'node:test'
import { gatewayWith, type Issuer } from 'sallyport/testing'

type Options = Readonly<Record<string, unknown>> & { readonly name?: string }

/** The entry that accepts the tokens of an issuer; its id has the name, so that a list can have several. */
export const jwtEntry = (issuer: Issuer, options: Options = {}) => ({
  use: 'auth/jwt',
  id: `auth/jwt:${options.name ?? issuer.provider.name}`,
  with: { ...issuer.provider, ...options },
})

/** A gateway with that entry alone at its gate, and the status that a token gets there. */
export async function gate(t: TestContext, issuer: Issuer, options: Options = {}) {
  const { requestWith, lines } = await gatewayWith(t, [jwtEntry(issuer, options)])
  return {
    status: async (token: string) => (await requestWith(`Bearer ${token}`)).status,
    lines,
    requestWith,
  }
}
