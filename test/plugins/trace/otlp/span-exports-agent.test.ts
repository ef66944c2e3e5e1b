import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer, request } from 'node:https'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openCertificates } from 'sallyport/toolkit'
import { recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { authority } from '#kit/tls.js'
import { collectorAgent } from '#plugins/trace/otlp/span-exports.js'
import { collector, END, startedAt, tracing } from '../collector.js'

const LOOPBACK = ['127.0.0.1']

/** A file with the certificate of one authority, and a function that replaces it. */
function certificateFile(t: TestContext, certificate: string) {
  const files = folder(t, { 'ca.crt': certificate })
  const path = join(files, 'ca.crt')
  const replace = (text: string): void => {
    writeFileSync(join(files, 'next'), text)
    renameSync(join(files, 'next'), path)
  }
  return { path, replace }
}

/** A collector with a certificate of `ours`, and an agent that trusts the certificates in a file. */
async function asking(t: TestContext, answer?: Parameters<typeof collector>[1]) {
  const [ours, theirs] = [authority(t), authority(t)]
  const { url, sockets } = await collector(t, answer, createServer(ours.issue(LOOPBACK)))
  const { path, replace } = certificateFile(t, ours.certificate)
  const certificates = openCertificates(path, recordedLog().log)
  const agent = collectorAgent('https://127.0.0.1', certificates)
  t.after(() => {
    agent.destroy()
    certificates.close()
  })
  const ask = () =>
    new Promise<number | undefined>((resolve, reject) => {
      const asked = request(url.replace('http:', 'https:'), { method: 'POST', agent }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode))
      })
      asked.on('error', reject).end('{}')
    })
  const trust = async (certificate: string): Promise<void> => {
    const changed = new Promise((resolve) => void certificates.onChange(resolve))
    replace(certificate)
    await changed
  }
  return { ours, theirs, sockets, ask, trust }
}

const untrusted = { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }

test('spans that wait while the authority of the collector changes are sent', async (t) => {
  const [ours, theirs] = [authority(t), authority(t)]
  const server = createServer(ours.issue(LOOPBACK))
  const { url, spans } = await collector(t, undefined, server)
  const { path, replace } = certificateFile(t, ours.certificate)
  const list = await tracing(t, { url: url.replace('http:', 'https:'), caCertPath: path })
  const request = await list.requestWith()
  const traced = (count: number): void => {
    for (let each = 0; each < count; each++)
      list.tracer.start({ request, message: undefined, startedAt }).end?.(END)
  }
  // A full batch is sent at once, and the rest in five seconds.
  traced(512)
  await eventually(() => spans().length === 512)
  traced(10)

  server.setSecureContext(theirs.issue(LOOPBACK))
  server.closeAllConnections()
  replace(theirs.certificate)
  await eventually(() => spans().length === 522)
  assert.equal(list.counts.get('sallyport_trace_lost_total trace/otlp not_taken'), 0)
})

test('an open connection is not reused once its authority is no longer in the file', async (t) => {
  const { ours, theirs, sockets, ask, trust } = await asking(t)
  assert.equal(await ask(), 200)
  assert.equal(await ask(), 200)
  assert.equal(sockets.size, 1)

  await trust(theirs.certificate)
  await assert.rejects(ask(), untrusted)
  await trust(ours.certificate)
  assert.equal(await ask(), 200)
})

test('an export that runs while the file changes arrives, as the last on its connection', async (t) => {
  const held: ServerResponse[] = []
  const { theirs, sockets, ask, trust } = await asking(t, (_, response) => {
    if (held.push(response) > 1) response.end('{}')
  })
  const sent = ask()
  await eventually(() => held.length === 1)

  await trust(theirs.certificate)
  held[0]?.end('{}')
  assert.equal(await sent, 200)
  await eventually(() => sockets.size === 0)
  await assert.rejects(ask(), untrusted)
})
