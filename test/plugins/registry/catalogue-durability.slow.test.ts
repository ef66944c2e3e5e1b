import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Guard } from 'sallyport'
import { booted, serving } from 'sallyport/testing'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { ownSources } from '#kit/own-sources.js'
import { listen, providing } from '#kit/plugin.js'
import { documentsIn } from '../store/catalogue-stores.js'
import { BASE, fileRegistry, registryOf, server, sourcePlugin } from './registry.js'

const SIZE = 3_000

// Syncs without a pause; each sync changes every version of every server.
const program = (stateDirectory: string): string => `
  import { serve, createLog } from 'sallyport/embed'
  import { definePlugin, Source } from 'sallyport'
  import { catalogue } from 'sallyport/builtin'
  let round = 0
  const documents = () => Array.from({ length: ${SIZE} }, (_, index) =>
    ({ name: 'a.example/s' + index, version: '1.0.' + round, description: 'round ' + round }))
  const source = definePlugin({ name: 'source', api: 1, provides: [Source], setup: (gateway) =>
    gateway.provide(Source, { name: 'main', location: 'test main', every: 1, fetch: async () =>
      ({ kind: 'whole', payloads: [Buffer.from(JSON.stringify((round++, documents())))] }) }) })
  await serve([
    { use: source },
    { use: 'auth/anonymous' },
    { use: 'store/sqlite', with: { directory: ${JSON.stringify(stateDirectory)} } },
    { use: 'registry/catalogue', with: { registries: [{ name: 'default', sources: ['main'] }] } },
  ], { catalogue, folder: '.', log: createLog({ level: 'silent' }) })
  setInterval(() => {}, 1000)
  process.stdout.write('up')
`

test('kill -9 during syncs leaves a complete last good state', async (t) => {
  const stateDirectory = folder(t)
  const down = sourcePlugin('main', async () => {
    throw new Error('it is down')
  })
  for (const delay of [0, 7, 30, 61, 110]) {
    const child = spawn(
      process.execPath,
      [...ownSources.node, '--input-type=module', '--eval', program(stateDirectory)],
      { cwd: ownSources.folder, stdio: ['ignore', 'pipe', 'inherit'] },
    )
    t.after(() => child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    await eventually(() => documentsIn(stateDirectory).length > 0)
    await setTimeout(delay)
    child.kill('SIGKILL')
    await once(child, 'close')

    const app = await booted(t, registryOf([down], ['main'], { stateDirectory }))
    const restored = await eventually(async () => {
      const answer = await app.inject(`${BASE}?limit=100`)
      return answer.statusCode === 200 ? answer : undefined
    })
    const page = restored.json()
    assert.equal(page.metadata.count, 100)
    const rounds = new Set(
      page.servers.map((each: { server: { description: string } }) => each.server.description),
    )
    assert.equal(rounds.size, 1, 'all of one sync')
  }
  assert.equal(statSync(join(stateDirectory, 'catalogue.sqlite')).mode & 0o077, 0)
})

test('requests in flight get complete responses when the gateway stops', async (t) => {
  const many = Array.from({ length: 100 }, (_, index) => server(`a.example/s${index}`, '1.0.0'))
  const release: (() => void)[] = []
  const slow = providing('slow', Guard, () => new Promise<void>((resolve) => release.push(resolve)))
  const running = await serving(t, [listen, slow, ...fileRegistry(t, many).list])
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const count = 40
  const answers = Array.from({ length: count }, (_, index) =>
    get(agent, `${running.addresses.main}${BASE}?limit=${60 + index}`),
  )
  await eventually(() => (release.length === count ? true : undefined))

  const stopped = running.stop(5_000)
  for (const go of release) go()
  for (const [index, body] of (await Promise.all(answers)).entries()) {
    assert.equal(JSON.parse(body).servers.length, 60 + index)
  }
  await stopped
})

const get = (agent: Agent, url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    request(url, { agent }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk
      })
      response.on('end', () => resolve(body)).on('error', reject)
    })
      .on('error', reject)
      .end()
  })
