import type { Meter } from 'sallyport'

export type SyncMeter = ReturnType<typeof syncMeter>

/** The metrics of syncs. Their labels are names from the configuration, which are few. */
export function syncMeter(meter: Meter) {
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
    synced(source: string, outcome: string, seconds: number): void {
      syncs(1, { source, outcome })
      duration(seconds, { source })
      if (outcome !== 'failed') last(Date.now() / 1000, { source })
    },
    holding: (source: string, versions: number): void => held(versions, { source }),
    refused: (source: string, count: number): void => refused(count, { source }),
    serving: (registry: string, versions: number): void => served(versions, { registry }),
  }
}
