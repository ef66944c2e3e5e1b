import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import {
  boot,
  ConfigError,
  definePlugin,
  type Gateway,
  GatewayError,
  many,
  one,
  serve,
  Telemetry,
} from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { recordedLog } from '../kit/booted.js'
import { folder } from '../kit/folder.js'

const never = (): Promise<void> => new Promise<void>(() => {})

/** A plugin that writes down each of its steps. */
function noting(name: string, notes: string[], more: (gateway: Gateway) => void = () => {}) {
  return definePlugin({
    name,
    api: 1,
    setup(gateway) {
      notes.push(`${name} setup`)
      gateway.onStart(() => void notes.push(`${name} start`))
      gateway.onReady(() => void notes.push(`${name} ready`))
      gateway.onStop(() => void notes.push(`${name} stop`))
      more(gateway)
    },
  })
}

const context = { catalogue, folder: import.meta.dirname, log: recordedLog().log }

test('every step runs in list order, through scopes, and the last to start is the first to stop', async () => {
  const notes: string[] = []
  const running = await boot(
    [
      { use: noting('a', notes) },
      { scope: '/in', plugins: [{ use: noting('b', notes) }] },
      { use: noting('c', notes) },
    ],
    context,
  )
  await running.ready({})
  await running.stop()

  const steps = ['setup', 'start', 'ready'].flatMap((step) =>
    ['a', 'b', 'c'].map((name) => `${name} ${step}`),
  )
  assert.deepEqual(notes, [...steps, 'c stop', 'b stop', 'a stop'])
})

test('a boot that fails half way stops what was set up, and says which plugin failed in which step', async () => {
  for (const phase of ['setup', 'start'] as const) {
    const notes: string[] = []
    const bad = definePlugin({
      name: 'bad',
      api: 1,
      setup(gateway) {
        gateway.onStop(() => void notes.push('bad stop'))
        if (phase === 'setup') throw new Error('out of luck')
        gateway.onStart(() => Promise.reject(new Error('out of luck')))
      },
    })

    await assert.rejects(
      boot([{ use: noting('a', notes) }, { use: bad }, { use: noting('later', notes) }], context),
      (error) =>
        error instanceof GatewayError && error.message === `plugin "bad" failed in ${phase}: out of luck`,
    )
    assert.deepEqual(notes.filter((note) => note.endsWith('stop')).slice(-2), ['bad stop', 'a stop'])
  }
})

test('a file that a plugin was told to read and cannot is a mistake in the configuration, whichever plugin it is', async (t) => {
  const files = folder(t, { empty: '\n', text: 'hello, this is no certificate' })
  const far = { name: 'far', url: 'https://registry.example.com' }
  const wrong: readonly (readonly [use: string, options: object, file: string])[] = [
    ['source/http', { ...far, bearerTokenFile: join(files, 'none') }, 'none'],
    ['source/http', { ...far, bearerTokenFile: join(files, 'empty') }, 'empty'],
    ['source/http', { ...far, bearerTokenFile: join(files, 'text') }, 'text'],
    ['source/http', { ...far, caCertPath: join(files, 'text') }, 'text'],
    ['source/git', { ...far, tokenFile: join(files, 'none') }, 'none'],
    ['state/files', { directory: files, passphraseFile: join(files, 'empty') }, 'empty'],
  ]
  for (const [use, options, file] of wrong) {
    await assert.rejects(boot([{ use, with: options }], context), (error) => {
      assert.ok(error instanceof ConfigError, String(error))
      assert.equal(error.problems[0]?.place, `plugin "${use}"`)
      return error.problems[0]?.message.includes(join(files, file))
    })
  }
})

test('a step that never returns is given up after its deadline', async () => {
  for (const phase of ['setup', 'start'] as const) {
    const stuck = definePlugin({
      name: 'stuck',
      api: 1,
      setup: (gateway) => (phase === 'setup' ? never() : gateway.onStart(never)),
    })
    await assert.rejects(
      boot([{ use: stuck }], { ...context, limits: { [phase]: 20 } }),
      new RegExp(`plugin "stuck" failed in ${phase}: it did not return within 0.02 s`),
    )
  }
})

test('a stop step that fails or hangs keeps no other from running', async () => {
  const notes: string[] = []
  const { log, lines } = recordedLog()
  const hanging = noting('hanging', notes, (gateway) => gateway.onStop(never))
  const throwing = noting('throwing', notes, (gateway) =>
    gateway.onStop(() => Promise.reject(new Error('no'))),
  )
  const running = await boot([{ use: noting('first', notes) }, { use: hanging }, { use: throwing }], {
    ...context,
    log,
    limits: { stop: 20 },
  })
  await running.stop()

  assert.deepEqual(notes.slice(-3), ['throwing stop', 'hanging stop', 'first stop'])
  assert.deepEqual(
    lines.filter(({ msg }) => msg === 'a plugin did not stop cleanly').map(({ plugin }) => plugin),
    ['throwing', 'hanging'],
  )
})

test('only an observer may be left out, and the gateway goes on without it', async () => {
  const observer = definePlugin({
    name: 'observer',
    api: 1,
    provides: [Telemetry],
    setup() {
      throw new Error('no disk')
    },
  })
  const { log, lines } = recordedLog()
  const running = await boot([{ use: observer, required: false }], { ...context, log })
  await running.stop()
  assert.ok(lines.some(({ plugin, level }) => plugin === 'observer' && level === 'warn'))

  const refused = boot([{ use: 'auth/anonymous', required: false }], context)
  await assert.rejects(refused, /plugins\[0\]\.required: "auth\/anonymous" may not be left out/)
})

test('a boot can be ended at each of its steps, and leaves no handle open', async () => {
  const before = process.getActiveResourcesInfo().toSorted()
  for (const phase of ['setup', 'start', 'ready'] as const) {
    const ending = new AbortController()
    const stopped: string[] = []
    const holding = definePlugin({
      name: 'holding',
      api: 1,
      setup(gateway) {
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
      },
    })
    const list = [{ use: 'listen/http', with: { address: '127.0.0.1:0' } }, { use: holding }]

    await assert.rejects(serve(list, { ...context, signal: ending.signal }), /asked to stop/)
    assert.deepEqual(stopped, [phase])
  }
  // libuv frees a closed handle after the immediates of the same turn.
  await setImmediate()
  await setImmediate()
  assert.deepEqual(process.getActiveResourcesInfo().toSorted(), before)
})

test('what is promised, provided and asked for is checked', async () => {
  const Salt = one<string>('salt')
  const Spice = many<string>('spice')
  const giver = (name: string, more: object, value = 'x') =>
    definePlugin({
      name,
      api: 1,
      provides: [Salt],
      setup: (gateway) => gateway.provide(Salt, value),
      ...more,
    })
  const taker = definePlugin({ name: 'taker', api: 1, requires: [Salt, Spice], setup() {} })

  const complaints = async (...plugins: ReturnType<typeof definePlugin>[]): Promise<string[]> => {
    try {
      await (
        await boot(
          plugins.map((use) => ({ use })),
          context,
        )
      ).stop()
      return []
    } catch (error) {
      return error instanceof ConfigError
        ? error.problems.map(({ message }) => message)
        : [(error as Error).message]
    }
  }

  assert.deepEqual(await complaints(taker), [
    'it needs a salt, and nothing in the list provides one',
    'it needs a spice, and nothing in the list provides one',
  ])
  assert.match(
    (await complaints(giver('a', {}), giver('b', {})))[0] ?? '',
    /it provides a salt, and so does "a"/,
  )
  assert.match((await complaints(giver('a', { provides: [] })))[0] ?? '', /`provides` does not list it/)
  const twice = giver('a', {
    setup: (gateway: Gateway) =>
      void { first: gateway.provide(Salt, 'x'), second: gateway.provide(Salt, 'x') },
  })
  assert.match((await complaints(twice))[0] ?? '', /salt was provided twice/)
  const undeclared = definePlugin({ name: 'u', api: 1, setup: (gateway) => void gateway.use(Salt) })
  assert.match((await complaints(undeclared))[0] ?? '', /`requires` does not list it/)
  const hasty = definePlugin({
    name: 'h',
    api: 1,
    requires: [Salt],
    setup: (gateway) => void gateway.use(Salt)(),
  })
  assert.match((await complaints(giver('a', {}), hasty))[0] ?? '', /asked for during setup/)
  const late = giver('a', { setup: (gateway: Gateway) => gateway.onStart(() => gateway.provide(Salt, 'x')) })
  assert.match((await complaints(late))[0] ?? '', /provided after setup/)
})

test('a provider may stand after who needs it, and a scope adds to what stands outside', async () => {
  const Salt = one<string>('salt')
  const Spice = many<string>('spice')
  const seen: Record<string, unknown> = {}
  const give = (id: string, salt?: string) =>
    definePlugin({
      name: `give ${id}`,
      api: 1,
      provides: salt === undefined ? [Spice] : [Spice, Salt],
      setup(gateway) {
        gateway.provide(Spice, id)
        if (salt !== undefined) gateway.provide(Salt, salt)
      },
    })
  const look = (id: string) =>
    definePlugin({
      name: `look ${id}`,
      api: 1,
      requires: [Salt],
      setup(gateway) {
        const salt = gateway.use(Salt)
        const spices = gateway.use(Spice)
        gateway.onStart(() => {
          seen[id] = [salt(), ...spices()]
        })
      },
    })

  const running = await boot(
    [
      { use: look('root') },
      { scope: '/own', plugins: [{ use: look('own') }, { use: give('b', 'fine') }] },
      { scope: '/none', plugins: [{ use: look('none') }] },
      { use: give('a', 'coarse') },
    ],
    context,
  )
  await running.stop()

  assert.deepEqual(seen, { root: ['coarse', 'a'], own: ['fine', 'a', 'b'], none: ['coarse', 'a'] })
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
  const listen = { use: 'listen/http', with: { address: '127.0.0.1:0' } }
  const [left, right] = await Promise.all(
    ['left', 'right'].map((salt) => serve([listen, { use: answer(salt) }], context)),
  )

  const body = async (url = ''): Promise<string> => (await fetch(url)).text()
  assert.equal(await body(left?.addresses.main), 'left')
  await left?.stop()
  assert.equal(await body(right?.addresses.main), 'right')
  await right?.stop()
})
