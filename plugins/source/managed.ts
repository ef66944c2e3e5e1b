import {
  definePlugin,
  GatewayError,
  ManagedSource,
  PublicationStore,
  type Publications,
  Source,
} from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'source/managed',
  api: 1,
  summary:
    'Serves the server documents that people publish in this registry itself, from the store of the list.',
  provides: [Source, ManagedSource],
  requires: [PublicationStore],
  options: z.strictObject({ name: z.string().min(1).describe('the name that registries list it by') }),

  setup(gateway, { name }) {
    const stores = gateway.use(PublicationStore)
    let opened: Publications | undefined
    const publications = (): Publications => {
      if (opened !== undefined) return opened
      throw new GatewayError(
        'SOURCE_NOT_OPEN',
        `the source "${name}" is not open yet: list it before registry/catalogue`,
      )
    }
    gateway.onStart(async () => {
      opened = await stores().at(-1)?.open(name)
    })
    gateway.provide(ManagedSource, { name, publications })
    gateway.provide(Source, {
      name,
      get location() {
        return publications().location
      },
      stored: true,
      async fetch({ bookmark, signal }) {
        const { kind, payloads, revision } = await publications().read(bookmark, signal)
        return kind === 'unchanged' ? { kind } : { kind, payloads, bookmark: revision }
      },
      watch: (changed) => publications().watch(changed),
    })
  },
})
