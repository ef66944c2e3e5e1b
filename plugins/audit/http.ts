import { AuditSink, definePlugin } from 'sallyport'
import { Delivery, type Destination } from './delivery.js'
import { httpOptions } from './http/options.js'
import { fetcherFor, send } from './http/receiver.js'
import { lossReport } from './losses.js'

const LIMITS: Destination['limits'] = {
  delay: 1_000,
  lines: 500,
  bytes: 1024 * 1024,
  backoff: [1_000, 60_000],
}

export default definePlugin({
  name: 'audit/http',
  api: 1,
  summary:
    'Sends an event for each call, with caller, name and outcome, to a receiver: many events in one request.',
  provides: [AuditSink],
  options: httpOptions,

  setup(gateway, options) {
    for (const value of Object.values(options.headers)) gateway.scrubber.add(value)
    const report = lossReport(gateway)
    const fetcher = fetcherFor(gateway, options)
    gateway.onStop(async () => {
      report.flush()
      await fetcher.close()
    })

    const destination: Destination = {
      report,
      limits: LIMITS,
      deliver: (lines, signal) => send(fetcher.fetch, options, lines, signal),
    }
    // Shared by the name of the entry: events that wait for an old receiver go to the new one after a reload.
    const delivery = gateway.share(
      gateway.id,
      () => new Delivery(destination),
      (shared) => shared.end(),
    )
    // Only now: a list whose start fails gets no lines.
    gateway.onReady(() => delivery.join(destination))
    gateway.onStop(() => delivery.leave(destination))
    gateway.provide(AuditSink, (event) => delivery.add(event))
  },

  async examine(examination, options) {
    const { examineReceiver } = await import('./http/examine.js')
    await examineReceiver(examination, options)
  },
})
