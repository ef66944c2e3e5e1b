import type { Entry } from 'sallyport'
import { z } from 'zod'
import { refuse } from '../settings/refuse.js'

/** The section `publishers` of a registry's file. The plugin itself validates the rules. */
export const publishersSection = z
  .array(z.record(z.string(), z.unknown()))
  .default([])
  .describe(
    'who may publish to the managed source of a registry: `when` (claims of the caller), `names`, and `may`; nobody when unset',
  )

interface Settings {
  readonly publishers: z.output<typeof publishersSection>
  readonly auth: { readonly mode: 'oauth' | 'anonymous' }
  readonly sources: readonly {
    readonly name: string
    readonly managed?: unknown
    readonly use?: string | undefined
  }[]
  readonly registries?: readonly { readonly sources: readonly string[] }[] | undefined
}

/** Refuses rules by which no caller could publish, and rules that match every caller. */
export function publisherRules(settings: Settings, context: z.core.$RefinementCtx): void {
  const { publishers, auth, registries } = settings
  if (publishers.length === 0) return
  const refusePublishers = (message: string): void => refuse(context, ['publishers'], message)
  if (auth.mode === 'anonymous')
    refusePublishers('excludes mode anonymous, where anybody could publish: use mode oauth')
  const places = placesOf(settings).map(({ name }) => name)
  if (places.length === 0)
    refusePublishers('needs a managed source to publish to: add { name: published, managed: {} } to sources')
  else if (registries?.some(({ sources }) => sources.some((name) => places.includes(name))) === false)
    refusePublishers(`needs a registry that lists a managed source: ${places.join(', ')}`)
}

/** The entry for publishing, when the settings have a managed source or publishers. */
export function publishEntries(settings: Settings): Entry[] {
  const { publishers, sources } = settings
  if (publishers.length === 0 && sources.every(({ managed }) => managed === undefined)) return []
  return [{ use: 'registry/publish', with: { publishers }, origin: { publishers: ['publishers'] } }]
}

/** Whether a source may be managed; a third-party source counts too. */
const placesOf = ({ sources }: Settings): Settings['sources'] =>
  sources.filter(({ managed, use }) => managed !== undefined || use !== undefined)
