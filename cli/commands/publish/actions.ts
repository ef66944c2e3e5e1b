import { z } from 'zod'
import type { Outcome } from './outcome.js'
import { refusalOf } from './refusal.js'
import {
  type Answer,
  type RegistryClient,
  type ServedVersion,
  versionIn,
  versionsIn,
} from './registry-client.js'

/** A document that this command has checked. */
export interface CheckedDocument {
  readonly name: string
  readonly version: string
  readonly bytes: Buffer
}

const isDone = ({ status }: Answer): boolean => status >= 200 && status < 300
// Further requests would have the same result.
const isFinal = ({ status }: Answer): boolean => status === 401 || status === 429 || status >= 500
const refused = (answer: Answer): Outcome => ({ result: 'refused', ...refusalOf(answer) })

/** The server at the URL is no registry: even with a status of success, nothing was published. */
const noRegistry = (answer: Answer): Answer => ({
  ...answer,
  status: 404,
  body: { error_description: 'the server there does not answer as a registry does' },
})

const answer404 = (answer: Answer, error: string, error_description: string): Answer => ({
  ...answer,
  status: 404,
  body: { error, error_description },
})
const noSuchRegistry = (answer: Answer): Answer =>
  answer404(answer, 'registry_unknown', 'there is no registry at this URL')
const noPublications = (answer: Answer): Answer =>
  answer404(answer, 'publications_not_taken', 'this registry accepts no publications')
const notPublished = (answer: Answer, named: string): Answer =>
  answer404(answer, 'version_unknown', `nothing is published as ${named}`)

/** Finds the reason of a 404: an unknown version, a registry without publications, or no registry at this URL. */
async function reasonOf404(registry: RegistryClient, answer: Answer, ifThere: Answer): Promise<Answer> {
  const isThere = await registry.isThere()
  if (isThere === undefined) return answer
  return isThere ? ifThere : noSuchRegistry(answer)
}

/** Publishes a document, and returns what changed. */
export async function publishDocument(
  registry: RegistryClient,
  { name, version, bytes }: CheckedDocument,
): Promise<Outcome> {
  const earlier = await registry.version(name, 'latest')
  if (isFinal(earlier)) return refused(earlier)
  const answer = await registry.publish(bytes)
  const published = isDone(answer) ? versionIn(answer.body) : undefined
  if (answer.status === 404) return refused(await reasonOf404(registry, answer, noPublications(answer)))
  if (published?.name !== name || published.version !== version)
    return refused(isDone(answer) ? noRegistry(answer) : answer)
  const before = latestIn(earlier)
  const now = published.isLatest ? version : before.before
  return {
    result: 'published',
    ...{ name, version },
    status: published.status,
    latest: { ...before, ...(now !== undefined && { now }) },
    url: registry.urlOf(name, version),
  }
}

/** Returns what publishing would change, and changes nothing. */
export async function planDocument(
  registry: RegistryClient,
  { name, version, bytes }: CheckedDocument,
): Promise<Outcome> {
  const judged = await registry.validate(bytes)
  if (judged.status === 404) return refused(await reasonOf404(registry, judged, noPublications(judged)))
  if (!isDone(judged)) return refused(judged)
  const { data } = validation.safeParse(judged.body)
  if (data === undefined) return refused(noRegistry(judged))
  if (!data.valid) return refused({ ...judged, status: 422, body: { detail: ISSUES, ...data } })
  const same = await registry.version(name, version)
  if (isFinal(same)) return refused(same)
  if (isDone(same)) {
    const error_description = `version ${version} of ${name} is there already`
    return refused({ ...same, status: 409, body: { error: 'version_exists', error_description } })
  }
  // `validate` works even when the URL names no registry.
  const latest = await registry.version(name, 'latest')
  if (latest.status === 404 && (await registry.isThere()) === false) return refused(noSuchRegistry(latest))
  return {
    result: 'would publish',
    ...{ name, version },
    status: 'active',
    latest: latestIn(latest),
    url: registry.urlOf(name, version),
  }
}

function latestIn(answer: Answer): { before?: string | null } {
  if (answer.status === 404) return { before: null }
  const before = isDone(answer) ? versionIn(answer.body)?.version : undefined
  return before === undefined ? {} : { before }
}

const ISSUES = 'the registry finds issues in the document'
const validation = z.looseObject({ valid: z.boolean() })
const changeAnswer = z.object({ updatedCount: z.number() })

/** A requested change of status. */
export interface StatusRequest {
  readonly name: string
  /** Undefined for all versions. */
  readonly version: string | undefined
  readonly status: string
  readonly message: string | undefined
}

/** Sets the status of published versions, and returns which versions changed. */
export async function changeStatus(
  registry: RegistryClient,
  { name, version, status, message }: StatusRequest,
): Promise<Outcome> {
  const earlier = await (version === undefined ? registry.versions(name) : registry.version(name, version))
  if (earlier.status === 404) {
    const named = version === undefined ? name : `${name}@${version}`
    return refused(await reasonOf404(registry, earlier, notPublished(earlier, named)))
  }
  if (!isDone(earlier)) return refused(earlier)
  const found = versionsOf(earlier, name, version)
  if (found === undefined || found.length === 0) return refused(noRegistry(earlier))
  const change = { status, ...(message !== undefined && { statusMessage: message }) }
  const answer = await registry.setStatus(name, version, change)
  if (!isDone(answer)) return refused(answer)
  const changed = versionsOf(answer, name, version)
  if (changed === undefined) return refused(noRegistry(answer))
  const after = new Map(changed.map((each) => [each.version, each.status]))
  const { updatedCount = 0 } = changeAnswer.safeParse(answer.body).data ?? {}
  const isShortened = updatedCount > changed.length
  const versions = found.map((each) => ({
    ...{ version: each.version, before: each.status },
    // Of very many versions a registry shows only the newest. Then all versions have the status.
    after: after.get(each.version) ?? (isShortened ? status : each.status),
  }))
  return { result: 'changed', name, versions }
}

/** The versions of a name in an answer, or the one version; undefined when the answer describes anything else. */
function versionsOf(
  { body }: Answer,
  name: string,
  version: string | undefined,
): readonly ServedVersion[] | undefined {
  if (version === undefined) {
    const found = versionsIn(body)
    return found.every((each) => each.name === name) ? found : undefined
  }
  const found = versionIn(body)
  return found?.name === name && found.version === version ? [found] : undefined
}
