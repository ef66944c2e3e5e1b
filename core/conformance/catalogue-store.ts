import {
  CatalogueStore,
  type SourceStore,
  type StoredDocument,
} from '../contract/capabilities/catalogue-store.js'
import { within } from '../toolkit/deadline.js'
import { randomName, UNUSUAL_NAMES } from './admission.js'
import { type ConformanceSuite, firstFault } from './requirement.js'
import { change, changed, faultIn, first, lossIn, one, second, two } from './sample-contents.js'

const never = new AbortController().signal

/** Runs `work` while this store may write; a store that only one process uses always may. */
async function leading<T>({ shared }: SourceStore, work: () => Promise<T>): Promise<T> {
  if (shared === undefined) return work()
  let stepDown: (() => Promise<void>) | undefined
  try {
    await new Promise<void>((resolve) => {
      stepDown = shared.lead(() => resolve())
    })
    return await work()
  } finally {
    await stepDown?.()
  }
}

const anySource = () => ({ name: randomName(), location: randomName() })

export const catalogueStoreConformance: ConformanceSuite<CatalogueStore> = {
  capability: CatalogueStore,
  requirements: [
    {
      code: 'CONTENTS_LOST',
      statement: 'returns the last written contents, byte for byte, with their bookmark',
      advice: 'store the bytes of a document: parsing JSON and writing it again changes numbers',
      awaits: 10,
      async check(stores) {
        const source = anySource()
        const store = stores.open(source)
        if ((await store.read(undefined, never)) !== undefined)
          return 'it has contents that were never written'
        const read = () => stores.open(source).read(undefined, never)
        return leading(store, async () => {
          await store.write(first, never)
          const loss = await lossIn(await read(), [one, two], first.bookmark)
          if (loss !== undefined) return loss
          await store.write(second, never)
          return lossIn(await read(), [changed], undefined)
        })
      },
    },
    {
      code: 'WRITE_HALF_DONE',
      statement: 'stores all of a change or none of it',
      advice: 'write to another file and rename it, or in a transaction',
      awaits: 6,
      async check(stores) {
        const source = anySource()
        const store = stores.open(source)
        const broken = function* (): Generator<StoredDocument> {
          yield changed
          throw new Error('it ends in the middle')
        }
        return leading(store, async () => {
          await store.write(first, never)
          const failed = await store
            .write(change({ changed: broken(), removed: [one], all: broken() }), never)
            .then(
              () => false,
              () => true,
            )
          if (!failed) return 'a change that ends in the middle is stored without an error'
          return faultIn(await stores.open(source).read(undefined, never), [one, two])
        })
      },
    },
    {
      code: 'SOURCES_MIXED',
      statement: 'separates sources and their locations, whatever their names are',
      advice: 'encode name and location so that no two pairs give the same file name or row',
      awaits: 2 + 4 * UNUSUAL_NAMES.length,
      async check(stores) {
        const own = randomName()
        const written = stores.open({ name: own, location: own })
        await leading(written, () => written.write(first, never))
        const others = UNUSUAL_NAMES.flatMap((name) => [
          { name: own + name, location: `${own}${name} ` },
          { name: `${own}${name}x`, location: own },
        ])
        return firstFault(others, async (source) => {
          const store = stores.open(source)
          const which = JSON.stringify(source.name)
          if ((await store.read(undefined, never)) !== undefined)
            return `${which} has the contents of another source`
          await leading(store, () => store.write(second, never))
          const fault = await faultIn(await store.read(undefined, never), [changed])
          return fault && `${which}: ${fault}`
        })
      },
    },
    {
      code: 'CHANGES_LOST',
      statement:
        'where processes share it, returns the changes since a revision, and why the last sync failed',
      advice:
        'raise the revision with each write, and return the whole when the store no longer knows the changes',
      awaits: 12,
      async check(stores) {
        const source = anySource()
        const store = stores.open(source)
        const { shared } = store
        if (shared === undefined) return undefined
        const other = stores.open(source)
        return leading(store, async () => {
          const before = await store.write(first, never)
          const after = await store.write(second, never)
          if (after <= before) return 'the revision does not rise with a write'
          const since = await other.read(before, never)
          if (since?.revision !== after)
            return 'the changes do not have the revision that their write returned'
          const fault = await faultIn(since, [changed])
          if (fault !== undefined) return fault
          const isGone =
            since.kind === 'whole' || since.removed?.some(({ version }) => version === one.version)
          if (isGone !== true) return 'a removed version is not among the changes'
          await shared.saveCopy(second, after, never)
          await shared.report('of conformance', never)
          if ((await other.read(after, never))?.failure !== 'of conformance')
            return 'a reported failure is lost'
          await store.write(change({ all: [changed] }), never)
          const last = await other.read(undefined, never)
          return last?.failure === undefined ? undefined : 'a write does not clear the failure before it'
        })
      },
    },
    {
      code: 'LEADERS_WRONG',
      statement:
        'where processes share it, has one leader at a time, sends requests to the leader and changes to all',
      advice: 'take a lock for each source, and release it when the leader steps down',
      awaits: 8,
      async check(stores, { timeout }) {
        const source = anySource()
        const [store, other] = [stores.open(source), stores.open(source)]
        if (store.shared === undefined || other.shared === undefined) return undefined
        const { shared: mine } = store
        const { shared: theirs } = other
        const isNotified = (subscribe: (called: () => void) => () => void, cause: () => Promise<unknown>) =>
          notifies(timeout, subscribe, cause)
        let secondLeads = false
        let led = (): void => {}
        const ledThere = new Promise<void>((resolve) => {
          led = resolve
        })
        let stepDown: (() => Promise<void>) | undefined
        const fault = await leading(store, async () => {
          stepDown = theirs.lead(() => {
            secondLeads = true
            led()
          })
          const wrote = () => store.write(first, never)
          if (!(await isNotified((called) => theirs.watch(called), wrote)))
            return 'no watch is notified of a write'
          if (
            !(await isNotified(
              (called) => mine.onSyncRequest(called),
              () => theirs.requestSync(),
            ))
          )
            return 'a request for a sync does not reach the leader'
          return secondLeads ? 'two processes lead at once' : undefined
        })
        const next = within(timeout, ledThere, () => new Error('late')).then(
          () => undefined,
          () => 'no process leads after the leader stepped down',
        )
        const result = fault ?? (await next)
        await stepDown?.()
        return result
      },
    },
  ],
}

/** Whether a subscription is notified in time after `cause`. */
async function notifies(
  timeout: number,
  subscribe: (called: () => void) => () => void,
  cause: () => Promise<unknown>,
): Promise<boolean> {
  let end = (): void => {}
  const called = new Promise<boolean>((resolve) => {
    end = subscribe(() => resolve(true))
  })
  try {
    await cause()
    return await within(timeout, called, () => new Error('late')).catch(() => false)
  } finally {
    end()
  }
}
