import {
  type PublicationActor,
  type PublicationState,
  PublicationStore,
} from '../contract/capabilities/publications.js'
import { within } from '../toolkit/deadline.js'
import { randomName } from './admission.js'
import { boundedPublications } from './bounded-publications.js'
import { type ConformanceSuite, firstFault } from './requirement.js'
import {
  actor,
  DOCUMENT,
  expects,
  ODD_NAMES,
  publish,
  readAll,
  refusal,
  stateOf,
} from './sample-publications.js'

const TWO = { maxVersions: 2 }

export const publicationsConformance: ConformanceSuite<PublicationStore> = {
  capability: PublicationStore,
  requirements: [
    {
      code: 'VERSION_CHANGED',
      statement: 'stores a version once, with the bytes of its document',
      advice: 'store the bytes that were sent, and refuse a second version with 409 VERSION_EXISTS',
      awaits: 6,
      async check(store) {
        const publications = await store.open(randomName())
        const event = await publish(publications, 'a/one', '1')
        const { action, before, after } = event
        if (action !== 'publish' || before !== undefined || after.status !== 'active')
          return 'its event does not describe a new, active version'
        const again = await refusal(publish(publications, 'a/one', '1'))
        await publications.setStatus({ name: 'a/one' }, { status: 'deleted' }, actor)
        const afterwards = await refusal(publish(publications, 'a/one', '1'))
        const { texts } = await readAll(publications)
        if (texts.length !== 1 || !texts[0]?.startsWith(`{"server":${DOCUMENT}`))
          return 'it stores other bytes of a document than were sent'
        const { publishedAt } = stateOf(texts[0])
        if (publishedAt !== event.at) return 'its date of publication differs from that of its event'
        return (
          expects(again, '409 VERSION_EXISTS', 'a version is published twice') ??
          expects(afterwards, '409 VERSION_EXISTS', 'a deleted version is published again')
        )
      },
    },
    {
      code: 'RACE_LOST',
      statement: 'lets exactly one of many concurrent publishers of a version succeed',
      advice: 'decide in the store, such as by a unique index',
      awaits: 4,
      async check(store) {
        const publications = await store.open(randomName())
        const names = Array.from({ length: 200 }, (_, index) => `a/${index % 20}`)
        const results = await Promise.all(
          names.map(async (name) => ({ name, result: await refusal(publish(publications, name, '1')) })),
        )
        const odd = results.find(({ result }) => !['not refused', '409 VERSION_EXISTS'].includes(result))
        if (odd !== undefined) return `one of 200 publications got "${odd.result}"`
        const winners = results.filter(({ result }) => result === 'not refused').map(({ name }) => name)
        if (winners.length !== 20 || new Set(winners).size !== 20)
          return `${winners.length} of 200 publications succeeded, for 20 names`
        const { texts } = await readAll(publications)
        return texts.length === 20 ? undefined : `${texts.length} versions are stored instead of 20`
      },
    },
    {
      code: 'STATUS_WRONG',
      statement: 'sets the status of one version or of all, and stores nothing when nothing changes',
      advice: 'compare status and message with the stored ones, and leave out versions that need no change',
      awaits: 12,
      async check(store) {
        const publications = await store.open(randomName())
        await publish(publications, 'a/one', '1')
        await publish(publications, 'a/one', '2')
        const noted: PublicationState = { status: 'deprecated', statusMessage: 'use "two"' }
        const [first, ...more] = await publications.setStatus({ name: 'a/one', version: '1' }, noted, actor)
        if (first?.version !== '1' || more.length > 0) return 'it changes another version than the named one'
        if (first.before?.status !== 'active' || first.after.statusMessage !== noted.statusMessage)
          return 'an event lacks the state before or after'
        const all = await publications.setStatus({ name: 'a/one' }, noted, actor)
        if (all.length !== 1 || all[0]?.version !== '2')
          return 'it changes a version that has the status already'
        const { revision } = await readAll(publications)
        const none = await publications.setStatus({ name: 'a/one' }, noted, actor)
        if (none.length > 0 || (await readAll(publications, revision)).kind !== 'unchanged')
          return 'it stores an event although nothing changes'
        await publications.setStatus({ name: 'a/one', version: '1' }, { status: 'deprecated' }, actor)
        const [changed] = (await readAll(publications, revision)).texts.map(stateOf)
        if (changed === undefined || changed.statusMessage !== undefined)
          return 'a message stays although none was given'
        const unknown = [{ name: 'a/one', version: '3' }, { name: 'a/two' }, { name: 'A/one' }]
        return firstFault(unknown, async (target) =>
          expects(
            await refusal(publications.setStatus(target, noted, actor)),
            '404 VERSION_UNKNOWN',
            JSON.stringify(target),
          ),
        )
      },
    },
    {
      code: 'HISTORY_WRONG',
      statement: 'gives the history of a name, newest first, up to a limit',
      advice: 'store an event with each change, in the same transaction',
      awaits: 8,
      async check(store) {
        const publications = await store.open(randomName())
        await publish(publications, 'a/one', '1')
        await publish(publications, 'b/other', '1')
        await publish(publications, 'a/one', '2')
        await publications.setStatus(
          { name: 'a/one', version: '1' },
          { status: 'deleted', statusMessage: 'x' },
          actor,
        )
        const events = await publications.history('a/one', 10)
        const descriptions = events.map(({ name, version, action }) => `${name}@${version} ${action}`)
        const order = events.map(({ at }) => at)
        if (order.join() !== order.toSorted().toReversed().join()) return 'a later event has an earlier time'
        if (!isSameActor(events[0]?.actor, actor)) return 'an event loses its actor'
        const [last] = await publications.history('a/one', 1)
        const publisher = await publications.publisher({ name: 'a/one', version: '1' })
        return (
          expects(
            descriptions.join(', '),
            'a/one@1 status, a/one@2 publish, a/one@1 publish',
            'the history',
          ) ??
          expects(JSON.stringify(last), JSON.stringify(events[0]), 'the newest event alone') ??
          (isSameActor(publisher, actor) ? undefined : 'the publisher of a version is lost') ??
          expects(
            String((await publications.history('a/none', 5)).length),
            '0',
            'the history of an unknown name',
          )
        )
      },
    },
    {
      code: 'CHANGES_WRONG',
      statement: 'reads everything, the changes since a revision, or that nothing changed',
      advice: 'raise the revision with each change, in the same transaction',
      awaits: 12,
      async check(store) {
        const publications = await store.open(randomName())
        if ((await readAll(publications)).texts.length > 0) return 'it has contents that were never published'
        await publish(publications, 'a/one', '1')
        const first = await readAll(publications)
        if (first.kind !== 'whole' || first.texts.length !== 1) return 'the whole lacks a published version'
        if ((await readAll(publications, first.revision)).kind !== 'unchanged')
          return 'it reports a change although nothing changed'
        await publish(publications, 'a/two', '1')
        await publications.setStatus({ name: 'a/two' }, { status: 'deprecated' }, actor)
        await publications.setStatus({ name: 'a/two' }, { status: 'deleted' }, actor)
        const changes = await readAll(publications, first.revision)
        if (changes.kind !== 'changes' || changes.texts.length !== 1)
          return 'it does not return a version that changed several times exactly once'
        if (stateOf(changes.texts[0] ?? '').status !== 'deleted')
          return 'it does not return a version in its current state'
        const whole = await readAll(publications)
        if (whole.texts.length !== 2) return 'it does not return a deleted version'
        return whole.texts.includes(changes.texts[0] ?? '')
          ? undefined
          : 'a version has other bytes in the whole'
      },
    },
    {
      code: 'VERSIONS_UNBOUNDED',
      statement: 'refuses more versions of a name than it may have',
      advice: 'count them in the store, and refuse with 409 TOO_MANY_VERSIONS',
      awaits: 6,
      async check(store) {
        const publications = await store.open(randomName())
        await publish(publications, 'a/one', '1', TWO)
        await publish(publications, 'a/other', '1', TWO)
        await publish(publications, 'a/one', '2', TWO)
        return (
          expects(
            await refusal(publish(publications, 'a/one', '3', TWO)),
            '409 TOO_MANY_VERSIONS',
            'a third version where two are allowed',
          ) ??
          expects(
            await refusal(publish(publications, 'a/one', '2', TWO)),
            '409 VERSION_EXISTS',
            'a version that exists',
          )
        )
      },
    },
    {
      code: 'NAMES_MIXED',
      statement: 'separates names, versions and sources, whatever their texts are',
      advice: 'pass names as values, and compare them byte for byte',
      awaits: 5 * ODD_NAMES.length,
      async check(store) {
        const source = randomName()
        const publications = await store.open(source)
        const other = await store.open(`${source} 'ä"/..`)
        const fault = await firstFault(ODD_NAMES, async (name) => {
          await publish(publications, name, name)
          const [event] = await publications.history(name, 5)
          if (event?.name !== name || event.version !== name)
            return `${JSON.stringify(name)} comes back under another name`
          await publish(other, name, name)
          return expects(
            await refusal(publish(publications, name, name)),
            '409 VERSION_EXISTS',
            JSON.stringify(name),
          )
        })
        if (fault !== undefined) return fault
        const { texts } = await readAll(publications)
        return expects(String(texts.length), String(ODD_NAMES.length), 'the number of versions')
      },
    },
    {
      code: 'WATCH_SILENT',
      statement: 'notifies watchers, until their watch is ended',
      advice: 'call `changed` after a change is stored, and return a function that ends the watch',
      awaits: 3,
      async check(store, { timeout }) {
        const publications = await store.open(randomName())
        let end = (): void => {}
        const woken = new Promise<void>((resolve) => {
          end = publications.watch(resolve)
        })
        await publish(publications, 'a/one', '1')
        const late = (): Error => new Error('no watcher is notified of a publication')
        await within(timeout, woken, late)
        end()
        end()
        return undefined
      },
    },
    ...boundedPublications,
  ],
}

/** Ignores the issuer, which has a requirement of its own, also for a token without one. */
const isSameActor = (found: PublicationActor | undefined, { provider, subject }: PublicationActor): boolean =>
  found?.provider === provider && found.subject === subject
