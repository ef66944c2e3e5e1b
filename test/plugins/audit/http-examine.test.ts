import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { program } from '#kit/program.js'
import { receiver } from './receiver.js'

test('doctor sends a request without events, and reports the response of the receiver', async (t) => {
  let status = 200
  const { url, received } = await receiver(t, (response) => response.writeHead(status).end())
  const place = folder(t, { token: 'the-token' })
  const doctor = async (answer: number, to = url) => {
    status = answer
    const options = { url: to, bearerTokenFile: join(place, 'token'), allowPrivateIP: true }
    const plugins = [{ use: 'auth/anonymous' }, { use: 'audit/http', with: options }]
    const home = folder(t, { 'run.json': JSON.stringify({ plugins }) })
    const running = program(t, ['doctor', '--config', join(home, 'run.json')], { patience: 60 })
    const code = await running.ended()
    const text = running.output.stdout + running.output.stderr
    assert.doesNotMatch(text, /the-token/)
    return { code, text }
  }

  const taken = await doctor(204)
  assert.equal(taken.code, 0, taken.text)
  assert.match(taken.text, /without events with 204/)
  assert.deepEqual(
    received
      .filter(({ headers }) => headers['content-type'] === 'application/x-ndjson')
      .map(({ body }) => body),
    [''],
  )
  assert.equal(received.at(-1)?.headers.authorization, 'Bearer the-token')
  assert.equal((await doctor(400)).code, 0)
  for (const answer of [401, 404]) {
    const found = await doctor(answer)
    assert.equal(found.code, 1)
    assert.match(found.text, new RegExp(`with ${answer}`))
  }
  assert.match((await doctor(503)).text, /events wait in memory/)
  assert.equal((await doctor(200, `${await closedPort()}/in`)).code, 1)
})
