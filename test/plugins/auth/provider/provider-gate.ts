import type { TestContext } from 'node:test'
import { gatewayWith, type Issuer } from 'sallyport/testing'

/** A gateway with one provider at its gate: the status that a token gets, and why it was refused. */
export async function gate(t: TestContext, options: Readonly<Record<string, unknown>>, use = 'auth/oidc') {
  const { requestWith, lines, running } = await gatewayWith(t, [{ use, with: options }])
  const status = async (token: string) => (await requestWith(`Bearer ${token}`)).status
  const refused = () => lines.filter(({ msg }) => msg === 'refused').at(-1)
  const cause = () => refused()?.['cause']
  return { status, cause, refused, lines, running }
}

/** The `Authorization` of each request for a path of the issuer. */
export const sentTo = (issuer: Issuer, path: string) =>
  issuer.asked.filter((asked) => asked.path === path).map(({ headers }) => headers.authorization)
