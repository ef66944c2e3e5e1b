import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { measurements } from '#kit/measurements.js'
import { listen } from '#kit/plugin.js'
import { authority, secureListener } from '#kit/tls.js'

const END = 'sallyport_certificate_not_after_timestamp_seconds'
const secondsOf = (pem: string): number => Date.parse(new X509Certificate(pem).validTo) / 1000

test('the metric shows the earliest end in a chain, and follows the files when they change', async (t) => {
  const ours = authority(t)
  const listen = secureListener(t, ours)
  const { cert, key } = listen.with.tls
  const { entry, last } = measurements()
  // The listener comes before the telemetry, which would miss a measurement in the listener's `setup`.
  await serving(t, [listen, entry])
  const inDays = (): number => Math.round(((last(END) ?? 0) - Date.now() / 1000) / 86_400)
  assert.equal(inDays(), 2)

  const renewed = ours.issue(['127.0.0.1'], 90)
  writeFileSync(key, renewed.key)
  writeFileSync(cert, `${renewed.cert}\n${ours.certificate}`)
  await eventually(() => last(END) === secondsOf(ours.certificate))
  writeFileSync(cert, renewed.cert)
  await eventually(() => last(END) === secondsOf(renewed.cert))
  assert.equal(inDays(), 90)
})

test('without TLS there is no metric of an end', async (t) => {
  const { entry, last } = measurements()
  await serving(t, [listen, entry])
  assert.equal(last(END), undefined)
})
