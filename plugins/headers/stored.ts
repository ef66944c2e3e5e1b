import {
  ConfigError,
  definePlugin,
  type Gateway,
  GatewayError,
  HeaderSource,
  type OutgoingHeaders,
  type Problem,
  SecretStore,
} from 'sallyport'
import { headerName, isHeaderValue } from 'sallyport/toolkit'
import { z } from 'zod'
import { refuseDuplicates } from './names.js'

export default definePlugin({
  name: 'headers/stored',
  api: 1,
  summary: 'Adds headers with values from a secret store to every request to the target.',
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
      .superRefine(refuseDuplicates)
      .describe("headers to add; the caller's own of the same name are removed"),
  }),

  setup(gateway, { headers }) {
    const stores = gateway.use(SecretStore)
    const { log, scrubber } = gateway
    const release: (() => void)[] = []
    let found: OutgoingHeaders = []
    const names = headers.map(({ name }) => name)
    gateway.provide(HeaderSource, { names, secret: true, headers: () => found })

    const watchSecret = async (
      { header: { name, secret }, store, value: first }: Found,
      index: number,
    ): Promise<void> => {
      const hidden = new ScrubbedValues(scrubber)
      const take = (value: string): void => {
        hidden.add(value)
        found = found.with(index, [name, value])
      }
      take(first)
      const changed = (value: string): void => {
        if (isHeaderValue(value)) take(value)
        else
          log.warn(
            { secret, store: store.name },
            'a changed secret is not a valid header value; its last value is kept',
          )
      }
      release.push(() => hidden.release())
      if (store.watch === undefined) return
      release.push(store.watch(secret, changed))
      // Once more: it may have changed before it was watched, while others were looked up.
      const now = await store.get(secret)
      if (now !== undefined && now !== first && found[index]?.[1] === first) changed(now)
    }
    gateway.onStart(async () => {
      const lookups = await Promise.all(headers.map((header) => lookUp(stores(), header)))
      const problems = lookups.flatMap((each) => ('problem' in each ? [each.problem] : []))
      if (problems.length > 0) throw new ConfigError(problems)
      found = headers.map(({ name }) => [name, ''] as const)
      for (const [index, each] of lookups.entries()) if ('value' in each) await watchSecret(each, index)
    })
    gateway.onStop(() => {
      for (const each of release) each()
    })
  },

  facts: () => ({ hasCredential: true }),
})

/** Hides the values of one secret in the log: the current one, and the former one, which may still be in flight. */
class ScrubbedValues {
  private readonly removals: (() => void)[] = []

  constructor(private readonly scrubber: Gateway['scrubber']) {}

  add(value: string): void {
    this.removals.push(this.scrubber.add(value))
    if (this.removals.length > 2) this.removals.shift()?.()
  }

  release(): void {
    for (const each of this.removals.splice(0)) each()
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

/** Asks the stores in order. A store that fails is reported only when no other has the secret. */
async function lookUp(stores: readonly SecretStore[], header: Header): Promise<LookedUp> {
  const { secret } = header
  const place = `secret "${secret}"`
  const asked: string[] = []
  for (const store of stores) {
    try {
      const value = await store.get(secret)
      if (value !== undefined) return checked(place, { header, store, value })
      asked.push(store.name)
    } catch (error) {
      asked.push(`${store.name} (${error instanceof GatewayError ? error.message : 'it failed'})`)
    }
  }
  return { problem: { place, message: `not found: asked ${asked.join(', ')}` } }
}

function checked(place: string, found: Found): LookedUp {
  if (isHeaderValue(found.value)) return found
  const fault = found.value === '' ? 'is empty' : 'holds bytes that end or break a header'
  const message = `the value in ${found.store.name} is not a valid header value: it ${fault}`
  return { problem: { place, message } }
}
