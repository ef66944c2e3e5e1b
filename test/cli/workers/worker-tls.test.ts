import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { dial, requestRaw, sendRaw } from '#kit/raw.js'
import { startedProgram } from '#kit/started-program.js'
import { authority } from '#kit/tls.js'

test('workers speak TLS on one port, each reads new files, and no worker resumes a session of another', async (t) => {
  const target = await listening(t, (_request, response) => response.end('target'))
  const ours = authority(t)
  const first = ours.issue(['127.0.0.1'])
  const home = folder(t, {
    'tls.crt': first.cert,
    'tls.key': first.key,
    'ca.crt': ours.certificate,
    'proxy.yaml': `targetUri: ${target}\ntls: { cert: ./tls.crt, key: ./tls.key, clientCa: ./ca.crt, clientCertificate: require }\n`,
  })
  const argv = ['proxy', 'x', '--config', 'proxy.yaml', '--workers', '2']
  const gateway = startedProgram(t, argv, { cwd: home, patience: 60 })
  const url = await gateway.ready()
  assert.match(gateway.output.stdout, /listening on https:\/\/127\.0\.0\.1:\d+ -> http/)
  const host = [`Host: ${new URL(url).host}`]
  const mine = { ...ours.issue(['caller.test']), ca: ours.certificate, rejectUnauthorized: true }
  const answers = await Promise.all(Array.from({ length: 8 }, () => requestRaw(url, 'GET /', host, mine)))
  assert.deepEqual(new Set(answers.map(({ status, body }) => `${status} ${body}`)), new Set(['200 target']))

  // Workers share the keys of session tickets, also one that is started after a change.
  const before = dial(url, { ...mine, maxVersion: 'TLSv1.2' }) as TLSSocket
  await once(before, 'secureConnect')
  const session = before.getSession()
  before.destroy()
  const theirs = authority(t)
  const second = theirs.issue(['127.0.0.1'])
  writeFileSync(join(home, 'ca.crt'), theirs.certificate)
  writeFileSync(join(home, 'tls.crt'), second.cert)
  writeFileSync(join(home, 'tls.key'), second.key)
  const readAgain = () => gateway.output.stderr.match(/TLS files were read again/g)?.length === 2
  await eventually(readAgain, 10)

  const [pid] = /(?<="pid":)\d+(?=,"msg":"a worker is ready")/.exec(gateway.output.stderr) ?? []
  process.kill(Number(pid), 'SIGKILL')
  const ready = () => gateway.output.stderr.match(/a worker is ready/g)?.length === 3
  await eventually(ready, 60)
  const next = { ...theirs.issue(['caller.test']), ca: theirs.certificate, rejectUnauthorized: true }
  for (let round = 0; round < 6; round++) {
    assert.equal((await requestRaw(url, 'GET /', host, next)).status, 200)
    const resuming = { ...mine, ca: theirs.certificate, maxVersion: 'TLSv1.2' as const }
    const again = { ...resuming, ...(session !== undefined && { session }) }
    const answer = await sendRaw(url, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', again).catch(() => '')
    assert.equal(answer, '', 'a removed authority')
  }
  gateway.stop()
  assert.equal(await gateway.ended(), 0)
})
