import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { startedProgram } from '#kit/started-program.js'
import { anew } from './several.js'

const SERVERS = 200

test('registry workers keep their common state intact, through a reload and a restart', async (t) => {
  let version = 1
  let asked = 0
  let down = false
  const source = await listening(t, (request, response) => {
    if (down) return response.writeHead(503).end()
    const url = new URL(request.url ?? '', 'http://source')
    // Of what has changed since then there is all of it, whenever that was.
    const from = Number(url.searchParams.get('cursor') ?? 0)
    if (!url.searchParams.has('updated_since') && from === 0) asked++
    const to = Math.min(from + Number(url.searchParams.get('limit')), SERVERS)
    const servers = Array.from({ length: to - from }, (_, index) => ({
      server: {
        name: `a.example/s${from + index}`,
        version: `${version}.0.0`,
        description: 'one of the test',
      },
    }))
    const nextCursor = to < SERVERS ? String(to) : undefined
    return response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ servers, metadata: { count: servers.length, nextCursor } }))
  })
  const home = folder(t, {
    'registry.yaml': `
address: 127.0.0.1:0
internalAddress: 127.0.0.1:0
auth: { mode: anonymous }
sources: [{ name: other, http: { url: '${source}', allowPrivateIP: true, every: 1h } }]
stateDirectory: ./state
`,
  })
  const start = async () => {
    const argv = ['registry', '--config', 'registry.yaml', '--workers', '2']
    const gateway = startedProgram(t, argv, { cwd: home, patience: 60 })
    const main = await gateway.ready()
    const internal = /metrics on (\S+)\)/.exec(gateway.output.stdout)?.[1] ?? ''
    // A source is read after the doors are open, by each in its own time.
    await eventually(async () => (await anew(`${internal}/readiness`, '')).status === 200 || undefined, 60)
    return { ...gateway, main, internal }
  }
  const latest = async (main: string): Promise<ReadonlySet<string | undefined>> => {
    const url = `${main}/registry/default/v0.1/servers/a.example%2Fs7/versions/latest`
    const answers = await Promise.all(Array.from({ length: 8 }, (_, id) => anew(url, `${id}`)))
    return new Set(answers.map(({ body = '' }) => /"version":"([^"]+)"/.exec(body)?.[1] ?? body))
  }

  const first = await start()
  assert.deepEqual(await latest(first.main), new Set(['1.0.0']))
  assert.equal(asked, 2, 'each worker reads the source once')

  for (const next of [2, 3, 4, 5]) {
    version = next
    const syncs = [1, 2, 3].map(() => fetch(`${first.internal}/sync/other`, { method: 'POST' }))
    for (const { status } of await Promise.all(syncs)) assert.equal(status, 200)
    assert.deepEqual(await latest(first.main), new Set([`${next}.0.0`]))
  }
  first.reload()
  await first.until(/is in force"/)
  assert.deepEqual(await latest(first.main), new Set(['5.0.0']))
  first.stop()
  assert.equal(await first.ended(), 0)
  assert.ok(readdirSync(join(home, 'state')).every((name) => name.startsWith('catalogue.sqlite')))

  // With the source gone there is nothing but what was kept.
  down = true
  const second = await start()
  assert.deepEqual(await latest(second.main), new Set(['5.0.0']))
  assert.equal(second.output.stderr.includes('cannot be used'), false)
})
