import type { Meter } from 'sallyport'

/** What is measured of syncs. Sources and registries are the operator's own few names. */
export interface SyncMeter {
  synced(source: string, outcome: string, seconds: number, versions: number): void
  refused(source: string, count: number): void
  serving(registry: string, versions: number): void
}

export function syncMeter(meter: Meter): SyncMeter {
  const syncs = meter.counter('registry_syncs_total', 'Syncs of a source', ['source', 'outcome'])
  const duration = meter.histogram('registry_sync_duration_seconds', 'Time that a sync took', ['source'])
  const held = meter.gauge('registry_source_versions', 'Server versions held from a source', ['source'])
  const refused = meter.gauge(
    'registry_refused_documents',
    'Documents that the last good sync of a source refused',
    ['source'],
  )
  const last = meter.gauge(
    'registry_last_good_sync_timestamp_seconds',
    'When a source was last read without a failure',
    ['source'],
  )
  const served = meter.gauge('registry_versions', 'Server versions that a registry serves', ['registry'])

  return {
    synced(source, outcome, seconds, versions) {
      syncs(1, { source, outcome })
      duration(seconds, { source })
      held(versions, { source })
      if (outcome !== 'failed') last(Date.now() / 1000, { source })
    },
    refused: (source, count) => refused(count, { source }),
    serving: (registry, versions) => served(versions, { registry }),
  }
}
