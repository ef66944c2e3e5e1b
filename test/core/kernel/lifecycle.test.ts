import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, definePlugin, type List, Telemetry } from 'sallyport'
import { boot } from 'sallyport/embed'
import { contextFor, recordedLog } from '#kit/booted.js'
import { plugin } from '#kit/plugin.js'
import { recording } from './recording.js'

const never = (): Promise<void> => new Promise<void>(() => {})

const context = contextFor({})

test('every step runs in list order, through scopes, and stop steps run in reverse order', async () => {
  const notes: string[] = []
  const running = await boot(
    [recording('a', notes), { scope: '/in', plugins: [recording('b', notes)] }, recording('c', notes)],
    context,
  )
  await running.ready({})
  await running.stop()

  const steps = ['setup', 'start', 'ready'].flatMap((step) =>
    ['a', 'b', 'c'].map((name) => `${name} ${step}`),
  )
  assert.deepEqual(notes, [...steps, 'c stop', 'b stop', 'a stop'])
})

test('a step that never returns fails after its deadline', async () => {
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

test('problems with the options of all plugins are reported at once, and an observer that fails is left out', async () => {
  const wrong = (name: string) => () => {
    throw new ConfigError([{ place: 'x', message: name }])
  }
  const [a, b] = ['a', 'b'].map((name) => plugin(name, wrong(name)))
  assert.ok(a && b)
  const late = plugin('late', (gateway) => gateway.onStart(wrong('late')))
  const broken = plugin('broken', () => Promise.reject(new Error('no')))
  const problemsOf = (list: List) =>
    boot(list, context).then(
      () => assert.fail('it started'),
      (error) => error instanceof ConfigError && error.problems.map(({ message }) => message),
    )
  assert.deepEqual(await problemsOf([a, b]), ['a', 'b'])
  assert.deepEqual(await problemsOf([a, broken]), ['a'])
  assert.deepEqual(await problemsOf([late]), ['late'])

  const observer = definePlugin({ name: 'observer', api: 1, provides: [Telemetry], setup: wrong('observer') })
  await (await boot([{ use: observer, required: false }], context)).stop()
})

test('a stop step that fails or hangs is named in the log, and the others still run', async () => {
  const notes: string[] = []
  const { log, lines } = recordedLog()
  const hanging = recording('hanging', notes, (gateway) => gateway.onStop(never))
  const throwing = recording('throwing', notes, (gateway) => {
    gateway.onReplaced(() => Promise.reject(new Error('no')))
    gateway.onStop(() => Promise.reject(new Error('no')))
  })
  const running = await boot([recording('first', notes), hanging, throwing], {
    ...context,
    log,
    limits: { stop: 20 },
  })
  await running.replaced()
  await running.stop()

  assert.deepEqual(notes.slice(-3), ['throwing stop', 'hanging stop', 'first stop'])
  assert.deepEqual(
    lines
      .filter(({ msg }) => msg === 'a plugin did not stop cleanly')
      .map(({ err }) => (err as Error).message),
    [
      'plugin "throwing" failed in replaced: no',
      'plugin "throwing" failed in stop: no',
      'plugin "hanging" failed in stop: it did not return within 0.02 s',
    ],
  )
})
