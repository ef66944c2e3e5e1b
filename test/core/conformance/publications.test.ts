import { PublicationStore } from 'sallyport'
import { findsFaults } from '#kit/conformance.js'
import { MemoryPublications } from '#kit/memory-publications.js'

const store = (fault: string) => () => ({ open: () => new MemoryPublications(fault) })
/** Sources are one whose names differ behind a blank. */
const shared = () => {
  const logs = new Map<string, MemoryPublications>()
  return {
    open(source: string) {
      const [name = ''] = source.split(' ')
      const publications = logs.get(name) ?? new MemoryPublications('')
      logs.set(name, publications)
      return publications
    },
  }
}

findsFaults(PublicationStore, {
  'documents that were parsed': { code: 'VERSION_CHANGED', make: store('other bytes') },
  'a decision before the write': { code: 'RACE_LOST', make: store('race') },
  'a message that no status change removes': { code: 'STATUS_WRONG', make: store('message stays') },
  'the oldest event first': { code: 'HISTORY_WRONG', make: store('oldest first') },
  'a version without a publisher': { code: 'HISTORY_WRONG', make: store('no publisher') },
  'a version for each of its changes': { code: 'CHANGES_WRONG', make: store('changes twice') },
  'versions without a limit': { code: 'VERSIONS_UNBOUNDED', make: store('unbounded') },
  'an event without the issuer': { code: 'ISSUER_LOST', make: store('no issuer') },
  'an event for each version of a change': { code: 'CHANGE_SPLIT', make: store('an event for each') },
  'events without a limit': { code: 'HISTORY_UNBOUNDED', make: store('history') },
  'a publisher that is forgotten with its event': {
    code: 'HISTORY_UNBOUNDED',
    make: store('publisher by events'),
  },
  'bytes without a limit': { code: 'BYTES_UNBOUNDED', make: store('bytes') },
  'a purge that no later read shows': { code: 'PURGE_WRONG', make: store('purge not reported') },
  'a purged version that is published again': { code: 'PURGE_WRONG', make: store('published again') },
  'watchers that are not notified': { code: 'WATCH_SILENT', make: store('silent') },
  'sources that share their publications': { code: 'NAMES_MIXED', make: shared },
})
