import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { program } from '#kit/program.js'
import { collector } from '../collector.js'

/** The report of doctor about a list that exports traces. */
async function examined(t: TestContext, url: string) {
  const files = folder(t, { token: 'CANARY-token' })
  const traces = { url, bearerTokenFile: join(files, 'token'), headers: { 'x-key': 'CANARY-key' } }
  const plugins = [{ use: 'auth/anonymous' }, { use: 'trace/otlp', with: traces }]
  const home = folder(t, { 'run.json': JSON.stringify({ plugins }) })
  const doctor = program(t, ['doctor', '--config', join(home, 'run.json')], { patience: 60 })
  const code = await doctor.ended()
  const text = doctor.output.stdout + doctor.output.stderr
  assert.doesNotMatch(text, /CANARY/)
  return { code, text }
}

test('doctor sends the collector an empty export, and reports the response', async (t) => {
  const good = await collector(t)
  const taken = await examined(t, good.url)
  assert.match(taken.text, /it takes traces \(200\)/)
  assert.equal(taken.code, 0, taken.text)
  assert.equal(good.received[0]?.text, '{"resourceSpans":[]}')
  assert.equal(good.received[0]?.headers['authorization'], 'Bearer CANARY-token')
  assert.equal(good.received[0]?.headers['x-key'], 'CANARY-key')

  const answering = (status: number) =>
    collector(t, (_, response) => void response.writeHead(status, 'CANARY').end('CANARY'))
  const wary = await examined(t, (await answering(401)).url)
  assert.match(wary.text, /with 401(.|\n)*bearerTokenFile/)
  const wrongPath = await examined(t, (await answering(404)).url)
  assert.match(wrongPath.text, /with 404(.|\n)*check the path/)
  const away = await examined(t, `${await closedPort()}/v1/traces`)
  assert.match(away.text, /start the collector/)
  // The gateway works without a collector.
  for (const { code, text } of [wary, wrongPath, away]) assert.equal(code, 0, text)
})
