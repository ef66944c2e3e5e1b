import {
  ConfigError,
  definePlugin,
  type Gateway,
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
    const { log, scrubber } = gateway
    const release: (() => void)[] = []
    let found: OutgoingHeaders = []
    gateway.provide(HeaderSource, { names: headers.map(({ name }) => name), headers: () => found })

    const follow = ({ header: { name, secret }, store, value: first }: Found, index: number): void => {
      const hidden = new Hidden(scrubber)
      const take = (value: string): void => {
        hidden.add(value)
        found = found.with(index, [name, value])
      }
      take(first)
      const changed = (value: string): void => {
        if (isHeaderValue(value)) take(value)
        else log.warn({ secret, store: store.name }, 'a stored secret cannot be used, its last value is kept')
      }
      release.push(store.watch?.(secret, changed) ?? (() => {}), () => hidden.release())
    }
    gateway.onStart(async () => {
      const looked = await Promise.all(headers.map((header) => lookUp(stores(), header)))
      const problems = looked.flatMap((each) => ('problem' in each ? [each.problem] : []))
      if (problems.length > 0) throw new ConfigError(problems)
      found = headers.map(({ name }) => [name, ''] as const)
      for (const [index, each] of looked.entries()) if ('value' in each) follow(each, index)
    })
    gateway.onStop(() => {
      for (const each of release) each()
    })
  },
})

/** The values of one secret that the log must not show: the one before the last may still be in flight. */
class Hidden {
  readonly #forget: (() => void)[] = []

  constructor(private readonly scrubber: Gateway['scrubber']) {}

  add(value: string): void {
    this.#forget.push(this.scrubber.add(value))
    if (this.#forget.length > 2) this.#forget.shift()?.()
  }

  release(): void {
    for (const each of this.#forget.splice(0)) each()
  }
}

interface Header {
  readonly name: string
  readonly secret: string
}

interface Found {
  readonly header: Header
  readonly store: SecretStore
  readonly value: string
}

type LookedUp = Found | { readonly problem: Problem }

/** Asks the stores in order. One that cannot be asked is told of only when no other had the secret. */
async function lookUp(stores: readonly SecretStore[], header: Header): Promise<LookedUp> {
  const { secret } = header
  const place = `secret "${secret}"`
  const asked: string[] = []
  for (const store of stores) {
    try {
      const value = await store.get(secret)
      if (value !== undefined) return judged(place, { header, store, value })
      asked.push(store.name)
    } catch (error) {
      asked.push(`${store.name} (${error instanceof GatewayError ? error.message : 'it failed'})`)
    }
  }
  return { problem: { place, message: `not found: asked ${asked.join(', ')}` } }
}

function judged(place: string, found: Found): LookedUp {
  if (isHeaderValue(found.value)) return found
  const message = 'its value cannot stand in a header: it is empty or holds bytes that end or break it'
  return { problem: { place, message } }
}
