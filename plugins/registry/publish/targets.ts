import {
  type ManagedSource,
  type Publications,
  Refusal,
  type RegistryView,
  type ServerCatalogue,
} from 'sallyport'

/** Where the publications of a registry go: its first managed source. */
export interface PublishTarget {
  readonly registry: string
  readonly source: string
  readonly publications: Publications
  /** The sources of the registry that come before it: what they have is served in place of what is published. */
  readonly earlier: ReadonlySet<string>
}

/** The target of a registry; refuses one that is unknown or has no managed source. */
export function targetOf(
  catalogue: ServerCatalogue,
  managed: readonly ManagedSource[],
  registry: string,
): PublishTarget {
  const sources = catalogue.sourcesOf?.(registry) ?? []
  for (const [index, name] of sources.entries()) {
    const found = managed.find((each) => each.name === name)
    if (found !== undefined)
      return {
        registry,
        source: name,
        publications: found.publications(),
        earlier: new Set(sources.slice(0, index)),
      }
  }
  throw new Refusal(
    404,
    'PUBLICATIONS_NOT_TAKEN',
    'this registry takes no publications: it lists no managed source, such as { name: published, managed: {} }',
  )
}

/** Refuses a name that an earlier source serves: what is published under it would not be served. */
export function refuseNameTaken({ earlier }: PublishTarget, view: RegistryView, name: string): void {
  const source = view.sourceOf?.(name)
  if (source === undefined || !earlier.has(source)) return
  const message = `the source "${source}" of this registry serves this name, and comes before the one that takes publications`
  throw new Refusal(409, 'NAME_TAKEN', message)
}

/** The other source that serves a name now. */
export function hiddenSource(target: PublishTarget, view: RegistryView, name: string): string | undefined {
  const source = view.sourceOf?.(name)
  return source === target.source ? undefined : source
}
