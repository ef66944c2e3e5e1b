import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { ConfigError, type Entry, type List, PublicAddress, Tunnel } from 'sallyport'
import { serve } from 'sallyport/embed'
import { contractSuite } from 'sallyport/testing'
import { contextFor, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { deferred } from '#kit/deferred.js'
import { folder } from '#kit/folder.js'
import { listen, plugin, providing } from '#kit/plugin.js'
import { runs } from '#kit/runs.js'
import { startedProgram } from '#kit/started-program.js'
import { started, statusOf } from './tunnelled.js'

const welcome = plugin(
  'welcome',
  ({ http }) => void http.get('/', { config: { public: true } }, () => 'welcome'),
)

/** A tunnel that leads nowhere, with a given URL. */
function leading(url: string, notes: string[] = [], key = 'one'): Entry {
  return providing('leading', Tunnel, {
    name: 'leading',
    key,
    async open() {
      notes.push('open')
      const { promise: lost, resolve: close } = deferred<string>()
      return {
        url,
        lost,
        async close() {
          notes.push('close')
          close('closed')
        },
      }
    },
  })
}

const listOf = (tunnel: Entry): Entry[] => [
  listen,
  tunnel,
  { use: 'tunnel/connection' },
  { use: 'guard/host', with: { public: true } },
  welcome,
]

contractSuite('tunnel/command', () => ({
  list: [
    {
      use: 'tunnel/command',
      with: {
        command: [process.execPath, join(import.meta.dirname, 'client.mjs'), '{port}'],
        pattern: 'url=(\\S+)',
      },
    },
  ],
}))

const part = fc.oneof(
  fc.constantFrom(
    'https://',
    'http://',
    'HTTPS://',
    'a.example',
    'LOCALHOST',
    '127.0.0.1',
    '[::1]',
    ':8443',
    '/',
  ),
  fc.constantFrom(
    'user@',
    'user:password@',
    '/path',
    '?query',
    '#fragment',
    '\\',
    ' ',
    '\t',
    '%2e',
    'ü.example',
    ':',
  ),
  fc.string({ maxLength: 3 }),
)
const told = fc.oneof(
  fc.array(part, { maxLength: 5 }).map((parts) => parts.join('')),
  fc.webUrl(),
  fc.string(),
)

test('a public URL has to be an https origin, or one of loopback', async (t) => {
  let good = 0
  await fc.assert(
    fc.asyncProperty(told, async (url) => {
      const context = contextFor({})
      let origin: string | undefined
      try {
        const running = await serve(listOf(leading(url)), context)
        origin = running.addresses.public
        await running.stop(0)
      } catch (error) {
        assert.match(String(error), /the tunnel has a public URL that cannot be used/)
        return
      }
      good++
      const { protocol, hostname, username, password, pathname, search, hash } = new URL(url)
      assert.equal(origin, new URL(url).origin)
      assert.ok(protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname), url)
      assert.deepEqual([username, password, pathname, search, hash], ['', '', '/', '', ''])
    }),
    {
      numRuns: runs(150),
      examples: [['https://a.example'], ['http://127.0.0.1:1/'], ['https://a.example:8443']],
    },
  )
  assert.ok(good >= 3)
  t.diagnostic(`${good} of the URLs were taken`)
})

test('a reload with the same key keeps the tunnel, and with another one opens the new tunnel before it closes the old one', async (t) => {
  const notes: string[] = []
  const running = await serving(t, listOf(leading('https://a.example', notes)))
  const { main = '' } = running.addresses
  assert.equal(running.addresses.public, 'https://a.example')

  await running.swap(listOf(leading('https://a.example', notes)))
  assert.deepEqual(notes, ['open'])
  assert.equal(await statusOf(main, { host: 'a.example' }), 200)

  await running.swap(listOf(leading('https://b.example', notes, 'two')))
  await eventually(() => notes.length === 3)
  assert.deepEqual(notes, ['open', 'open', 'close'])
  assert.equal(running.addresses.public, 'https://b.example')
  assert.equal(await statusOf(main, { host: 'b.example' }), 200)
  assert.equal(await statusOf(main, { host: 'a.example' }), 403)

  await running.stop(0)
  assert.deepEqual(notes, ['open', 'open', 'close', 'close'])
})

test('a watcher that begins once the tunnel is open gets the origin at once', async (t) => {
  let addresses: readonly PublicAddress[] = []
  const watching = plugin('watching', (gateway) => {
    const provided = gateway.use(PublicAddress)
    gateway.onStart(() => {
      addresses = provided()
    })
  })
  await serving(t, [...listOf(leading('https://a.example/')), watching])
  const told: string[] = []
  addresses[0]?.watch((origin) => void told.push(origin))
  assert.deepEqual(told, ['https://a.example'])
})

test('a reload whose tunnel does not open leaves the old tunnel and list', async (t) => {
  const notes: string[] = []
  const running = await serving(t, listOf(leading('https://a.example', notes)))
  await assert.rejects(running.swap(listOf(leading('nonsense', [], 'two'))), /cannot be used/)
  assert.deepEqual(notes, ['open'])
  assert.equal(await statusOf(running.addresses.main ?? '', { host: 'a.example' }), 200)
})

// A file in a folder of its own finds no packages beside it.
const MINE = `
import { definePlugin, Tunnel } from 'sallyport'
import { z } from '${import.meta.resolve('zod')}'

export default definePlugin({
  name: 'mine',
  api: 1,
  provides: [Tunnel],
  options: z.strictObject({ host: z.string() }),
  setup(gateway, { host }) {
    const open = async () => ({ url: 'https://' + host, lost: new Promise(() => {}), close: async () => {} })
    gateway.provide(Tunnel, { name: 'mine', key: host, open })
  },
})
`

test('a flag names a provider of your own', async (t) => {
  const mine = join(folder(t, { 'mine.mjs': MINE }), 'mine.mjs')
  const { url } = await started(t, [`--tunnel-provider=${mine}`, '--tunnel-option', 'host=mine.example'])
  assert.equal(url, 'https://mine.example')
})

const GATEWAY = `
plugins:
  - use: listen/http
    with: { address: 127.0.0.1:0 }
  - use: ./mine.mjs
    with: { host: mine.example }
  - use: tunnel/connection
  - use: guard/host
    with: { loopback: true, public: true }
  - use: auth/anonymous
    with: { public: true }
`

test('in a configuration for run, the ready line has the public URL', async (t) => {
  const home = folder(t, { 'mine.mjs': MINE, 'gateway.yaml': GATEWAY })
  const running = startedProgram(t, ['run', '--config', 'gateway.yaml'], { cwd: home })
  const main = (await running.ready()).replace(/,$/, '')
  assert.match(
    running.output.stdout,
    /^sallyport run listening on http:\S+, reachable at https:\/\/mine\.example$/m,
  )
  assert.equal(await statusOf(main, { host: 'mine.example' }), 404)
  assert.equal(await statusOf(main, { host: 'other.example' }), 403)
})

const anonymous = { use: 'auth/anonymous' }
const below = (...plugins: Entry[]) => ({ scope: '/below', plugins })
const tunnelTo = (notes: string[]): Entry[] => [
  leading('https://a.example', notes),
  { use: 'tunnel/connection' },
]
const openLists: Readonly<Record<string, (notes: string[]) => List>> = {
  'beside the tunnel': (notes) => [listen, ...tunnelTo(notes), anonymous],
  'before the tunnel': (notes) => [listen, anonymous, ...tunnelTo(notes)],
  'in a scope': (notes) => [listen, ...tunnelTo(notes), below(anonymous)],
  'with the tunnel in a scope': (notes) => [listen, below(...tunnelTo(notes)), anonymous],
}
for (const [where, listWith] of Object.entries(openLists)) {
  test(`a tunnel without authentication ${where} needs an explicit option`, async (t) => {
    const notes: string[] = []
    await assert.rejects(serving(t, listWith(notes)), (error: unknown) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.problems.map(({ place }) => place).join(), /^plugin "[^"]*auth\/anonymous": public$/)
      return true
    })
    assert.deepEqual(notes, [])

    const running = await serving(t, [listen, ...tunnelTo(notes), welcome])
    await assert.rejects(running.swap(listWith([])), /auth\/anonymous/)
    assert.equal(await statusOf(running.addresses.main ?? '', { host: 'a.example' }), 200)
  })
}

test('without an authenticator, a tunnel refuses every caller', async (t) => {
  const closed = plugin('closed', ({ http }) => void http.get('/', () => 'closed'))
  const running = await serving(t, [listen, ...tunnelTo([]), closed])
  assert.equal(await statusOf(running.addresses.main ?? '', { host: 'a.example' }), 401)
})

test('several processes, which would open several tunnels, are refused', async (t) => {
  const home = folder(t, { 'mine.mjs': MINE, 'gateway.yaml': GATEWAY })
  const running = startedProgram(t, ['run', '--config', 'gateway.yaml', '--workers=2'], { cwd: home })
  assert.equal(await running.ended(), 2)
  assert.match(running.output.stderr, /each process would open a tunnel of its own/)
})
