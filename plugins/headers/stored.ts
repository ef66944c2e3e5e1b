import {
  ConfigError,
  definePlugin,
  GatewayError,
  HeaderSource,
  headerName,
  isHeaderValue,
  type OutgoingHeaders,
  type Problem,
  SecretStore,
} from 'sallyport'
import { z } from 'zod'
import { refuseRepeats } from './names.js'

export default definePlugin({
  name: 'headers/stored',
  api: 1,
  summary: 'Adds headers to every request on its way out whose values are kept in a secret store.',
  provides: [HeaderSource],
  requires: [SecretStore],
  options: z.strictObject({
    headers: z
      .array(
        z.strictObject({
          name: headerName().describe('the name of the header'),
          secret: z.string().min(1).describe('the name of the secret that is its value'),
        }),
      )
      .min(1)
      .superRefine(refuseRepeats)
      .describe("headers to add; the caller's own of the same name are removed"),
  }),

  setup(gateway, { headers }) {
    const stores = gateway.use(SecretStore)
    const forget: (() => void)[] = []
    let found: OutgoingHeaders = []
    gateway.provide(HeaderSource, { names: headers.map(({ name }) => name), headers: () => found })
    gateway.onStart(async () => {
      const looked = await Promise.all(headers.map(({ secret }) => lookUp(stores(), secret)))
      const problems = looked.flatMap((each) => ('problem' in each ? [each.problem] : []))
      if (problems.length > 0) throw new ConfigError(problems)
      const values = looked.flatMap((each) => ('value' in each ? [each.value] : []))
      found = headers.map(({ name }, index) => [name, values[index] ?? ''] as const)
      forget.push(...values.map((value) => gateway.scrubber.add(value)))
    })
    gateway.onStop(() => {
      for (const each of forget) each()
    })
  },
})

type LookedUp = { readonly value: string } | { readonly problem: Problem }

/** Asks the stores in order. One that cannot be asked is told of only when no other had the secret. */
async function lookUp(stores: readonly SecretStore[], secret: string): Promise<LookedUp> {
  const place = `secret "${secret}"`
  const asked: string[] = []
  for (const store of stores) {
    try {
      const value = await store.get(secret)
      if (value !== undefined) return judged(place, value)
      asked.push(store.name)
    } catch (error) {
      asked.push(`${store.name} (${error instanceof GatewayError ? error.message : 'it failed'})`)
    }
  }
  return { problem: { place, message: `not found: asked ${asked.join(', ')}` } }
}

function judged(place: string, value: string): LookedUp {
  if (isHeaderValue(value)) return { value }
  const message = 'its value cannot stand in a header: it is empty or holds bytes that end or break it'
  return { problem: { place, message } }
}
