import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { program } from '#kit/program.js'
import { requestRaw, sendRaw } from '#kit/raw.js'
import { authority } from '#kit/tls.js'

test('the example accepts only callers with a certificate of its authority', async (t) => {
  const home = folder(t)
  cpSync(join(import.meta.dirname, '../../examples/mutual-tls'), home, { recursive: true })
  execFileSync(join(home, 'certificates.sh'), { cwd: home })
  const target = await listening(t, (_request, response) => response.end('target'))
  const own = ['--config', 'proxy.yaml', '--target-uri', `${target}/mcp`, '--port', '0']
  const proxy = program(t, ['proxy', 'notes', ...own], { cwd: home })
  const url = await proxy.ready()

  const read = (name: string) => readFileSync(join(home, 'certificates', name), 'utf8')
  const verified = { ca: read('ca.crt'), servername: 'localhost', rejectUnauthorized: true }
  const host = [`Host: ${new URL(url).host}`]
  const certificate = { cert: read('client.crt'), key: read('client.key') }
  const accepted = await requestRaw(url, 'GET /mcp', host, { ...verified, ...certificate })
  assert.deepEqual(accepted, { status: 200, body: 'target' })
  for (const other of [{}, authority(t).issue(['client.example.com'])]) {
    const answer = await sendRaw(url, 'GET /mcp HTTP/1.1\r\n\r\n', { ...verified, ...other }).catch(() => '')
    assert.equal(answer, '')
  }

  const doctor = program(t, ['doctor', '--config', 'proxy.yaml'], { cwd: home })
  await doctor.ended()
  assert.match(doctor.output.stdout, /^ok +listen\/http +certificate: valid until/m)
  assert.match(doctor.output.stdout, /^ok +listen\/http +certificate name: it is for 127\.0\.0\.1/m)
})
