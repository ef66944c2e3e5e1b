import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { freePort } from '#kit/free-port.js'
import { listen } from '#kit/plugin.js'
import { bin } from '#kit/started-program.js'

interface Started {
  readonly child: ChildProcess
  readonly url: string
  readonly internal: string
}

/** A registry whose source cannot be read, and that refuses a caller without a token. */
async function registry(t: TestContext, stderr: number): Promise<Started> {
  const home = folder(t)
  const internal = `127.0.0.1:${await freePort()}`
  const provider = { name: 'corp', issuerUrl: 'http://127.0.0.1:9', audience: 'x', allowPrivateIP: true }
  const settings = {
    address: '127.0.0.1:0',
    internalAddress: internal,
    stateDirectory: null,
    auth: { oauth: { resourceUrl: 'http://127.0.0.1/', providers: [provider] } },
    sources: [{ name: 'own', file: { path: './missing.json' } }],
    registries: [{ name: 'default', sources: ['own'] }],
  }
  writeFileSync(join(home, 'registry.json'), JSON.stringify(settings))
  const started = await running(t, ['registry', '--config', join(home, 'registry.json')], stderr)
  return { ...started, internal: `http://${internal}` }
}

async function running(
  t: TestContext,
  argv: readonly string[],
  stderr: 'pipe' | number,
): Promise<Omit<Started, 'internal'>> {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [bin, ...argv], {
    env: { PATH },
    stdio: ['ignore', 'pipe', stderr],
  })
  const ended = once(child, 'close')
  t.after(async () => {
    child.kill('SIGKILL')
    child.stderr?.resume()
    await ended
  })
  let said = ''
  child.stdout?.on('data', (chunk) => (said += String(chunk)))
  const url = await eventually(() => /http:\/\/[^\s/]+/.exec(said)?.[0], 30)
  return { child, url }
}

const agent = new Agent({ keepAlive: true })

/** The status, the challenge and the milliseconds of one request without a token. */
async function knock(url: string): Promise<[number | undefined, string | undefined, number]> {
  const began = performance.now()
  const request = get(url, { agent })
  const [response] = await once(request, 'response')
  response.resume()
  await once(response, 'end')
  return [response.statusCode, response.headers['www-authenticate'], performance.now() - began]
}

const metric = async (internal: string, name: string): Promise<number> => {
  const text = await (await fetch(`${internal}/metrics`)).text()
  return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
}

test('with a full disk behind stderr callers are still refused, and missing lines are counted', async (t) => {
  const { child, url, internal } = await registry(t, openSync('/dev/full', 'w'))

  for (let index = 0; index < 100; index++) {
    const [status, challenge] = await knock(`${url}/registry/default/v0.1/servers`)
    assert.equal(status, 401)
    assert.match(challenge ?? '', /^Bearer .*resource_metadata=/)
  }

  assert.equal(await metric(internal, 'sallyport_refusals_total'), 100)
  const dropped = await metric(internal, 'sallyport_log_lines_dropped_total')
  assert.ok(dropped >= 10 && dropped < 50, `${dropped} lines, where a hundred refusals are summed`)
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
})

const noisy = `
export default {
  name: 'noisy',
  api: 1,
  setup({ http, log }) {
    http.get('/', { config: { public: true } }, (request) => {
      log.warn({ padding: 'x'.repeat(1_000) }, 'asked')
      return 'answered'
    })
  },
}
`

test('without a reader of stderr requests are answered, and a stop ends the process', async (t) => {
  const home = folder(t)
  const plugins = [listen, { use: 'auth/anonymous' }, { use: './noisy.mjs' }]
  writeFileSync(join(home, 'run.json'), JSON.stringify({ plugins }))
  writeFileSync(join(home, 'noisy.mjs'), noisy)
  const { child, url } = await running(t, ['run', '--config', join(home, 'run.json')], 'pipe')
  const took: number[] = []

  for (let index = 0; index < 3_000; index++) {
    const [status, , milliseconds] = await knock(url)
    assert.equal(status, 200)
    took.push(milliseconds)
  }

  const p99 = took.toSorted((a, b) => a - b)[2_969] ?? Number.NaN
  t.diagnostic(`p99 is ${p99} ms`)
  assert.ok(p99 < 500, `p99 is ${p99} ms`)
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
})
