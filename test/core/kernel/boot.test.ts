import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, definePlugin, GatewayError, one } from 'sallyport'
import { boot, serve } from 'sallyport/embed'
import { contextFor } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listen, plugin } from '#kit/plugin.js'
import { recording } from './recording.js'

const never = (): Promise<void> => new Promise<void>(() => {})

const context = contextFor({})

test('a boot that fails half way stops the plugins that were set up, and names the failed plugin and step', async () => {
  for (const phase of ['setup', 'start'] as const) {
    const notes: string[] = []
    const bad = plugin('bad', (gateway) => {
      gateway.onStop(() => void notes.push('bad stop'))
      if (phase === 'setup') throw new Error('out of luck')
      gateway.onStart(() => Promise.reject(new Error('out of luck')))
    })

    await assert.rejects(
      boot([recording('a', notes), bad, recording('later', notes)], context),
      (error) =>
        error instanceof GatewayError && error.message === `plugin "bad" failed in ${phase}: out of luck`,
    )
    assert.deepEqual(notes.filter((note) => note.endsWith('stop')).slice(-2), ['bad stop', 'a stop'])
  }
})

test('a plugin that never finishes loading is named by its place', async (t) => {
  const root = folder(t, { 'stuck.mjs': 'await new Promise(() => {})' })
  const list = [recording('a', []), { scope: '/in', plugins: [{ use: './stuck.mjs' }] }]

  await assert.rejects(boot(list, { ...context, folder: root, limits: { start: 50 } }), {
    code: 'PLUGIN_LATE',
    message: 'plugins[1].plugins[0].use: this plugin was not loaded within 0.05 s',
  })
})

test('an unreadable file of the configuration is a ConfigError, whichever plugin reads it', async (t) => {
  const files = folder(t, { empty: '\n', text: 'hello, this is no certificate' })
  const far = { name: 'far', url: 'https://registry.example.com' }
  const wrong: readonly (readonly [use: string, options: object, file: string])[] = [
    ['source/http', { ...far, bearerTokenFile: join(files, 'none') }, 'none'],
    ['source/http', { ...far, bearerTokenFile: join(files, 'empty') }, 'empty'],
    ['source/http', { ...far, bearerTokenFile: join(files, 'text') }, 'text'],
    ['source/http', { ...far, caCertPath: join(files, 'text') }, 'text'],
    ['source/git', { ...far, tokenFile: join(files, 'none') }, 'none'],
    ['state/sqlite', { directory: files, passphraseFile: join(files, 'empty') }, 'empty'],
  ]
  for (const [use, options, file] of wrong) {
    await assert.rejects(boot([{ use, with: options }], context), (error) => {
      assert.ok(error instanceof ConfigError, String(error))
      assert.equal(error.problems[0]?.place, `plugin "${use}"`)
      return error.problems[0]?.message.includes(join(files, file))
    })
  }
})

// Without pipes: the test runner may open its own, and the lists here open none.
const handles = (): string[] =>
  process
    .getActiveResourcesInfo()
    .filter((kind) => kind !== 'PipeWrap' && kind !== 'ConnectWrap')
    .toSorted()

test('a boot can be aborted at each of its steps, and leaves no handle open', async () => {
  const before = handles()
  for (const phase of ['setup', 'start', 'ready'] as const) {
    const ending = new AbortController()
    const stopped: string[] = []
    const holding = plugin('holding', (gateway) => {
      const timer = setInterval(() => {}, 1000)
      gateway.onStop(() => {
        clearInterval(timer)
        stopped.push(phase)
      })
      const hang = (): Promise<void> => {
        ending.abort(new Error('asked to stop'))
        return never()
      }
      if (phase === 'setup') return hang()
      if (phase === 'start') gateway.onStart(hang)
      else gateway.onReady(hang)
    })
    const list = [listen, holding]

    await assert.rejects(serve(list, { ...context, signal: ending.signal }), /asked to stop/)
    assert.deepEqual(stopped, [phase])
  }
  // libuv frees a closed handle a few turns later.
  await eventually(() => {
    const known = [...before]
    return handles().every(
      (kind) => known.includes(kind) && known.splice(known.indexOf(kind), 1).length === 1,
    )
  })
})

test('two gateways in one process share nothing', async () => {
  const Salt = one<string>('salt')
  const answer = (salt: string) =>
    definePlugin({
      name: 'answer',
      api: 1,
      provides: [Salt],
      requires: [Salt],
      setup(gateway) {
        gateway.provide(Salt, salt)
        const given = gateway.use(Salt)
        gateway.http.get('/', { config: { public: true } }, () => given())
      },
    })
  const [left, right] = await Promise.all(
    ['left', 'right'].map((salt) => serve([listen, { use: answer(salt) }], context)),
  )

  const body = async (url = ''): Promise<string> => (await fetch(url)).text()
  assert.equal(await body(left?.addresses.main), 'left')
  await left?.stop()
  assert.equal(await body(right?.addresses.main), 'right')
  await right?.stop()
})
