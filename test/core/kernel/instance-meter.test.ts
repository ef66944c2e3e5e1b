import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Instrument, Telemetry } from 'sallyport'
import { booted } from '#kit/booted.js'
import { plugin, providing } from '#kit/plugin.js'

test('measurements reach every observer of the list, with the prefix of this gateway', async (t) => {
  const seen: [string, Instrument['kind'], string, number, object, string?][] = []
  const observing = (name: string) =>
    providing(name, Telemetry, {
      measure: ({ kind, name: metric }, value, labels, ...traceId) =>
        seen.push([name, kind, metric, value, labels, ...traceId]),
    })
  const measuring = plugin('measuring', ({ meter, onReady }) => {
    const count = meter.counter('calls_total', 'Calls', ['kind'])
    const level = meter.gauge('level', 'Level')
    const time = meter.histogram('seconds', 'Seconds')
    onReady(() => {
      count(2, { kind: 'a' })
      level(3)
      time(0.5, {}, 'a1')
    })
  })
  await booted(t, [measuring, observing('one'), observing('two')])

  assert.deepEqual(seen, [
    ['one', 'counter', 'sallyport_calls_total', 2, { kind: 'a' }, undefined],
    ['two', 'counter', 'sallyport_calls_total', 2, { kind: 'a' }, undefined],
    ['one', 'gauge', 'sallyport_level', 3, {}, undefined],
    ['two', 'gauge', 'sallyport_level', 3, {}, undefined],
    ['one', 'histogram', 'sallyport_seconds', 0.5, {}, 'a1'],
    ['two', 'histogram', 'sallyport_seconds', 0.5, {}, 'a1'],
  ])
})
