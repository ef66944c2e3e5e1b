import type { FastifyRequest } from 'fastify'
import {
  type ChangedVersion,
  type Identity,
  type ManagedSource,
  type PublicationActor,
  type PublicationEvent,
  type PublicationLimits,
  type PublicationState,
  type Publications,
  type PurgedVersions,
  Refusal,
  type RegistryView,
  type ServerCatalogue,
  type ServerVersion,
  UpstreamError,
  type VersionKey,
} from 'sallyport'
import { within } from 'sallyport/toolkit'
import { notLoaded } from '../route.js'
import type { PublishRate } from './publish-rate.js'

/** Milliseconds that the response to a write waits until the registry serves the change. */
const LONGEST_REFRESH = 10_000

// A name may have thousands of versions, each with a row in the store.
const MOST_AUDITED = 1_000
// As many as a page of the list has.
const MOST_ANSWERED = 100

interface WriterParts {
  readonly catalogue: () => ServerCatalogue
  readonly managed: () => readonly ManagedSource[]
  readonly rate: PublishRate
  readonly limits: PublicationLimits
  readonly warn: (fields: object, message: string) => void
}

/** One write: its caller and its target. */
interface Write {
  readonly request: FastifyRequest
  readonly caller: Identity
  readonly target: PublishTarget
}

/** The result of a change of all versions of a name. */
export interface ChangedVersions {
  readonly count: number
  /** The newest of the changed versions. */
  readonly newest: readonly ServerVersion[]
}

/** Writes to the managed source of a registry, and returns the version as the registry then serves it. */
export class PublicationWriter {
  constructor(private readonly parts: WriterParts) {}

  /** Finds the caller of a request, also below a public path, and the target of the write. */
  async begin(request: FastifyRequest): Promise<Write> {
    const caller = request.identity ?? (await request.authenticate())
    const { registry } = request.params as { readonly registry: string }
    const target = targetOf(this.parts.catalogue(), this.parts.managed(), registry)
    this.parts.rate.take(rateKeyOf(caller))
    return { request, caller, target }
  }

  async publish(
    { request, caller, target }: Write,
    version: VersionKey & { readonly server: Uint8Array },
  ): Promise<ServerVersion> {
    const { name } = version
    const { registry, source } = target
    const view = this.viewOf(target)
    refuseNameTaken(target, view, name)
    const hidden = hiddenSource(target, view, name)
    const { limits, warn } = this.parts
    const event = await target.publications.publish(version, actorOf(caller), limits)
    request.recordPublished({ registry, ...changeOf(event) })
    if (hidden !== undefined)
      warn({ registry, source, name, hidden }, 'a published server hides that of another source')
    return this.versionServed(target, version, event)
  }

  async setStatusOfVersion(
    { request, caller, target }: Write,
    version: VersionKey,
    state: PublicationState,
  ): Promise<ServerVersion> {
    this.viewOf(target)
    const begun = new Date().toISOString()
    const { limits } = this.parts
    const [event] = await target.publications.setStatus(version, state, actorOf(caller), limits)
    if (event !== undefined) request.recordPublished({ registry: target.registry, ...changeOf(event) })
    return this.versionServed(target, version, event ?? { at: begun, after: state })
  }

  /** Sets the status of all versions of a name. */
  async setStatusOfServer(
    { request, caller, target }: Write,
    name: string,
    state: PublicationState,
  ): Promise<ChangedVersions> {
    const { registry } = target
    this.viewOf(target)
    const { limits, rate } = this.parts
    const events = await target.publications.setStatus({ name }, state, actorOf(caller), limits)
    const versions = events.flatMap(changedIn)
    const count = versions.length
    const [first] = events
    if (first === undefined) return { count, newest: [] }
    rate.charge(rateKeyOf(caller), count - 1)
    const audited = versions.slice(0, MOST_AUDITED)
    request.recordPublished({ registry, name, action: 'status', after: state, count, versions: audited })
    const changed = new Set(versions.map(({ version }) => version))
    const served = await (await this.viewServed(target)).versions(name, target.source)
    const found = served.filter((each) => changed.has(each.version) && isServed(each, first))
    if (found.length < count) throw stored()
    return { count, newest: found.slice(0, MOST_ANSWERED) }
  }

  /** Frees the space that the deleted versions of a name take. */
  async purge({ request, caller, target }: Write, name: string): Promise<PurgedVersions> {
    const { registry, publications } = target
    if (publications.purge === undefined) throw notPurged()
    this.viewOf(target)
    const { limits, rate } = this.parts
    const purged = await publications.purge(name, actorOf(caller), limits)
    const { versions } = purged
    if (versions.length === 0) return purged
    rate.charge(rateKeyOf(caller), versions.length - 1)
    const audited = versions.slice(0, MOST_AUDITED).map((version) => ({ version, before: DELETED }))
    const about = { count: versions.length, versions: audited }
    request.recordPublished({ registry, name, action: 'purge', after: DELETED, ...about })
    const gone = new Set(versions)
    const served = await (await this.viewServed(target)).versions(name, target.source)
    if (served.some(({ version }) => gone.has(version))) throw stored()
    return purged
  }

  private async versionServed(
    target: PublishTarget,
    { name, version }: VersionKey,
    change: Pick<PublicationEvent, 'at' | 'after'>,
  ): Promise<ServerVersion> {
    const versions = await (await this.viewServed(target)).versions(name, target.source)
    const found = versions.find((each) => each.version === version)
    if (found === undefined || !isServed(found, change)) throw stored()
    return found
  }

  /** The registry after the write. */
  private async viewServed(target: PublishTarget): Promise<RegistryView> {
    const { source } = target
    const late = (): Error => new Error(`"${source}" was not read within ${LONGEST_REFRESH / 1000} s`)
    try {
      await within(LONGEST_REFRESH, Promise.resolve(this.parts.catalogue().refresh?.(source)), late)
    } catch (cause) {
      throw stored(cause)
    }
    return this.viewOf(target, stored)
  }

  private viewOf({ registry }: PublishTarget, refusal: () => Error = notLoaded): RegistryView {
    const view = this.parts.catalogue().registry(registry)
    if (typeof view !== 'object') throw refusal()
    return view
  }
}

const DELETED = { status: 'deleted' } as const

const rateKeyOf = ({ provider, subject }: Identity): string => JSON.stringify([provider, subject])

const actorOf = ({ provider, subject, issuer }: Identity): PublicationActor => ({
  ...{ provider, subject },
  ...(issuer !== undefined && { issuer }),
})

const changedIn = ({ version, before, versions }: PublicationEvent): readonly ChangedVersion[] =>
  versions ?? [{ version, ...(before !== undefined && { before }) }]

/** The version after a change, or after a later change by another caller. */
const isServed = (
  { status, updatedAt }: ServerVersion,
  { at, after }: Pick<PublicationEvent, 'at' | 'after'>,
): boolean => status === after.status || (updatedAt !== undefined && updatedAt >= Date.parse(at))

const changeOf = ({ name, version, action, before, after }: PublicationEvent) => ({
  name,
  version,
  action,
  ...(before !== undefined && { before }),
  after,
})

const notPurged = (): Refusal =>
  new Refusal(501, 'PURGE_UNSUPPORTED', 'the store of this registry cannot purge versions')

const stored = (cause?: unknown): UpstreamError =>
  new UpstreamError(
    'STORED_NOT_SERVED',
    'this is stored, and not served here yet: do not send it again, ask for it in some seconds',
    { statusCode: 503, retryAfter: 5, cause },
  )

/** The target of a registry's publications: its first managed source. */
interface PublishTarget {
  readonly registry: string
  readonly source: string
  readonly publications: Publications
  /**
   * The earlier sources of the registry: the registry serves their versions of a name instead of the published ones.
   */
  readonly earlier: ReadonlySet<string>
}

/** Returns the target of a registry; refuses a registry that is unknown or has no managed source. */
function targetOf(
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

/** Refuses a name that an earlier source has: the registry would not serve a publication under it. */
function refuseNameTaken({ earlier }: PublishTarget, view: RegistryView, name: string): void {
  const source = view.sourceOf?.(name)
  if (source === undefined || !earlier.has(source)) return
  const message = `the source "${source}" of this registry serves this name, and comes before the one that takes publications`
  throw new Refusal(409, 'NAME_TAKEN', message)
}

/** The other source from which the registry serves a name now. */
function hiddenSource(target: PublishTarget, view: RegistryView, name: string): string | undefined {
  const source = view.sourceOf?.(name)
  return source === target.source ? undefined : source
}
