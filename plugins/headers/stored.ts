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
      .describe("headers to add; the gateway removes the caller's own headers of the same names"),
  }),

  setup(gateway, { headers }) {
    const stores = gateway.use(SecretStore)
    const { log, scrubber } = gateway
    const release: (() => void)[] = []
    let found: OutgoingHeaders = []
    const names = headers.map(({ name }) => name)
    gateway.provide(HeaderSource, { names, secret: true, headers: () => found })

    const watchSecret = async (
      { header: { name, secret }, store, value: first }: FoundSecret,
      index: number,
    ): Promise<void> => {
      const hidden = new ScrubbedValues(scrubber)
      const setValue = (value: string): void => {
        hidden.add(value)
        found = found.with(index, [name, value])
      }
      setValue(first)
      const onChange = (value: string): void => {
        if (isHeaderValue(value)) setValue(value)
        else
          log.warn(
            { secret, store: store.name },
            'the new value of a secret is not a valid header value; the gateway keeps sending the last valid one',
          )
      }
      release.push(() => hidden.release())
      if (store.watch === undefined) return
      release.push(store.watch(secret, onChange))
      // Reads the secret again: it may have changed before the watch began, during the look-up of others.
      const now = await store.get(secret)
      if (now !== undefined && now !== first && found[index]?.[1] === first) onChange(now)
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

interface FoundSecret {
  readonly header: Header
  readonly store: SecretStore
  readonly value: string
}

type LookupResult = FoundSecret | { readonly problem: Problem }

/** Looks in the stores in order. Reports a store that fails only when no other store has the secret. */
async function lookUp(stores: readonly SecretStore[], header: Header): Promise<LookupResult> {
  const { secret } = header
  const place = `secret "${secret}"`
  const tried: string[] = []
  for (const store of stores) {
    try {
      const value = await store.get(secret)
      if (value !== undefined) return checked(place, { header, store, value })
      tried.push(store.name)
    } catch (error) {
      tried.push(`${store.name} (${error instanceof GatewayError ? error.message : 'it failed'})`)
    }
  }
  return { problem: { place, message: `not found; stores tried: ${tried.join(', ')}` } }
}

function checked(place: string, found: FoundSecret): LookupResult {
  if (isHeaderValue(found.value)) return found
  const fault = found.value === '' ? 'is empty' : 'holds bytes that end or break a header'
  const message = `the value in ${found.store.name} is not a valid header value: it ${fault}`
  return { problem: { place, message } }
}
