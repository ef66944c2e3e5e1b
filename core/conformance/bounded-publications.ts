import type { PublicationStore, Publications } from '../contract/capabilities/publications.js'
import { randomName } from './admission.js'
import { type CheckResult, firstFault, type Requirement } from './requirement.js'
import { actor, DOCUMENT, expects, publish, readAll, refusal } from './sample-publications.js'

const other = { ...actor, subject: 'another' }
const DELETED = { status: 'deleted' } as const

/** Requirements that keep the history and the bytes of a source bounded, and the publishers of versions for ever. */
export const boundedPublications: readonly Requirement<PublicationStore>[] = [
  {
    code: 'ISSUER_LOST',
    statement: 'stores the issuer of the token with each event, and none for a token without an issuer',
    advice: 'store the issuer of the actor with each event, beside provider and subject',
    awaits: 7,
    async check(store) {
      const publications = await store.open(randomName())
      await publish(publications, 'a/one', '1')
      const { issuer: _, ...unknown } = actor
      await publish(publications, 'a/one', '2', {}, unknown)
      return firstFault(['1', '2'], async (version) => {
        const events = await publications.history('a/one', 2)
        const event = events.find((each) => each.version === version)
        const publisher = await publications.publisher({ name: 'a/one', version })
        const issuer = version === '1' ? actor.issuer : undefined
        return [event?.actor, publisher].every((each) => each === undefined || each.issuer === issuer)
          ? undefined
          : `the issuer in ${JSON.stringify(event?.actor)} is wrong`
      })
    },
  },
  {
    code: 'CHANGE_SPLIT',
    statement: 'stores a change of all versions of a name as one event',
    advice: 'store one row with the list of its versions, each with its state before',
    awaits: 8,
    async check(store) {
      const publications = await store.open(randomName())
      for (const version of ['1', '2', '3']) await publish(publications, 'a/one', version)
      const noted = { status: 'deprecated', statusMessage: 'x' } as const
      await publications.setStatus({ name: 'a/one', version: '2' }, noted, actor)
      const events = await publications.setStatus({ name: 'a/one' }, DELETED, actor)
      const history = await publications.history('a/one', 100)
      const [stored, ...split] = history.filter(({ after }) => after.status === 'deleted')
      const versionsOf = (event = events[0]): string =>
        (event?.versions ?? [])
          .map(({ version, before: state }) => `${version} ${state?.status} ${state?.statusMessage}`)
          .toSorted()
          .join()
      const all = '1 active undefined,2 deprecated x,3 active undefined'
      return (
        expects(String(events.length), '1', 'the number of events that it returns') ??
        expects(versionsOf(), all, 'the versions of the event that it returns') ??
        expects(versionsOf(stored), all, 'the versions of the event in the history') ??
        expects(String(split.length), '0', 'the number of further events of that change')
      )
    },
  },
  {
    code: 'HISTORY_UNBOUNDED',
    statement: 'keeps `maxEvents` events of a name, and the publisher of a version for ever',
    advice:
      'delete the oldest events of the name in the same transaction, and keep the publisher with the version',
    awaits: 12,
    async check(store) {
      const publications = await store.open(randomName())
      const limits = { maxEvents: 4 }
      await publish(publications, 'a/other', '1', limits)
      await publish(publications, 'a/one', '1', limits)
      const publisher = await publications.publisher({ name: 'a/one', version: '1' })
      for (const status of ['deprecated', 'active', 'deprecated', 'active', 'deprecated'] as const)
        await publications.setStatus({ name: 'a/one' }, { status }, actor, limits)
      await publish(publications, 'a/one', '2', limits)
      const events = await publications.history('a/one', 100)
      const afterwards = await publications.publisher({ name: 'a/one', version: '1' })
      return (
        expects(String(events.length), '4', 'the events that are left') ??
        expects(
          String(events.some(({ version }) => version === '2')),
          'true',
          'whether the newest event is there',
        ) ??
        expects(
          JSON.stringify(afterwards),
          JSON.stringify(publisher),
          'the publisher of the first version',
        ) ??
        expects(
          String((await publications.history('a/other', 100)).length),
          '1',
          'the events of another name',
        )
      )
    },
  },
  {
    code: 'BYTES_UNBOUNDED',
    statement: 'refuses a document that exceeds the bytes of the source or of its publisher',
    advice: 'add up the bytes in the store; refuse with 409 SOURCE_FULL and PUBLISHER_FULL',
    awaits: 8,
    async check(store) {
      const publications = await store.open(randomName())
      const own = { maxBytesOfActor: 2 * DOCUMENT.length }
      const all = { ...own, maxBytes: 3 * DOCUMENT.length }
      await publish(publications, 'a/one', '1', all)
      await publications.setStatus({ name: 'a/one' }, DELETED, actor)
      await publish(publications, 'a/two', '1', all)
      const third = await refusal(publish(publications, 'a/one', '2', all))
      if (third === 'not refused') return 'it stores a third document of an actor that may have two'
      await publish(publications, 'a/one', '2', all, other)
      return (
        expects(third, '409 PUBLISHER_FULL', 'a third document of an actor that may have two') ??
        expects(
          await refusal(publish(publications, 'a/three', '1', all, other)),
          '409 SOURCE_FULL',
          'a fourth document in a source that may have three',
        ) ??
        expects(
          await refusal(publish(publications, 'a/three', '1')),
          'not refused',
          'a document without limits',
        )
      )
    },
  },
  {
    code: 'PURGE_WRONG',
    statement: 'frees the bytes of purged versions, and never lets them be published again',
    advice:
      'delete only the document, keep the version with its publisher, and return the whole from a later read',
    awaits: 16,
    async check(store) {
      const publications = await store.open(randomName())
      return publications.purge === undefined ? undefined : purgeFault(publications)
    },
  },
]

async function purgeFault(publications: Publications): Promise<CheckResult> {
  const full = { maxBytes: 2 * DOCUMENT.length }
  await publish(publications, 'a/one', '1', full)
  await publish(publications, 'a/one', '2', full)
  const publisher = await publications.publisher({ name: 'a/one', version: '1' })
  const early = await publications.purge?.('a/one', actor)
  await publications.setStatus({ name: 'a/one', version: '1' }, DELETED, actor)
  const { revision } = await readAll(publications)
  const purged = await publications.purge?.('a/one', other)
  const again = await refusal(publish(publications, 'a/one', '1'))
  const since = await readAll(publications, revision)
  const event = (await publications.history('a/one', 100)).find(({ action }) => action === 'purge')
  const afterwards = await publications.publisher({ name: 'a/one', version: '1' })
  const revived = await refusal(
    publications.setStatus({ name: 'a/one', version: '1' }, { status: 'active' }, actor),
  )
  const unknown = await refusal(publications.purge?.('a/none', actor) ?? Promise.resolve())
  return (
    expects(JSON.stringify(early), '{"versions":[],"bytes":0}', 'a purge of versions that are not deleted') ??
    expects(JSON.stringify(purged?.versions), '["1"]', 'the purged versions') ??
    expects(String(purged?.bytes), String(DOCUMENT.length), 'the freed bytes') ??
    expects(`${since.kind} ${since.texts.length}`, 'whole 1', 'a read since a revision before the purge') ??
    expects(again, '409 VERSION_EXISTS', 'a purged version is published again') ??
    expects(revived, '404 VERSION_UNKNOWN', 'the status of a purged version') ??
    expects(String(event?.actor.subject), other.subject, 'the actor of the purge') ??
    expects(JSON.stringify(afterwards), JSON.stringify(publisher), 'the publisher of the purged version') ??
    expects(
      await refusal(publish(publications, 'a/two', '1', full)),
      'not refused',
      'a publication within the freed bytes',
    ) ??
    expects(unknown, '404 VERSION_UNKNOWN', 'a purge of an unknown name')
  )
}
