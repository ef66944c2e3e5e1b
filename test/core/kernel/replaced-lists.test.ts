import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { AccessSink, BackgroundTask, definePlugin, type Gateway } from 'sallyport'
import type { ServeContext } from 'sallyport/embed'
import { ask } from '#kit/ask.js'
import { recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen, providing } from '#kit/plugin.js'
import { slowRoute } from './slow-route.js'

/** A list with a slow route; `steps` are those that it went through, in order. */
function lasting(name: string) {
  const { entry, arrival, finish } = slowRoute()
  const steps: string[] = []
  const setup = (gateway: Gateway): void => {
    gateway.http.get('/', { config: { public: true } }, () => name)
    gateway.provide(AccessSink, { from: 0, ended: ({ status }) => void steps.push(`ended ${status}`) })
    gateway.onReplaced(async () => {
      await setTimeout(20)
      steps.push('replaced')
    })
    gateway.onStop(() => void steps.push('stopped'))
  }
  const use = definePlugin({ name, api: 1, provides: [AccessSink], setup })
  return { list: [listen, entry, { use }], steps, arrival, finish: () => finish(name) }
}

const textOf = async (url: string): Promise<string> => (await ask(url)).text

async function started(t: TestContext, context: Partial<ServeContext>) {
  const first = lasting('first')
  const { log, lines } = recordedLog()
  const running = await serving(t, first.list, { log, ...context })
  const url = running.addresses.main ?? ''
  const call = textOf(`${url}/slow`)
  call.catch(() => {})
  await first.arrival
  return { running, first, url, call, lines }
}

test('a call that outlasts a reload gets its response, and then its list stops', async (t) => {
  const { running, first, url, call, lines } = await started(t, { drainLimit: 20 })

  const second = lasting('second')
  await running.swap(second.list)
  assert.equal(await textOf(url), 'second')
  await eventually(() => first.steps.length > 0)
  assert.deepEqual(first.steps, ['replaced'])
  assert.ok(
    lines.some(({ msg, requests }) => /go on with the old configuration/.test(String(msg)) && requests === 1),
  )
  // The call holds up neither another reload nor the end of another list.
  await running.swap(lasting('third').list)
  assert.equal(await textOf(url), 'third')
  await eventually(() => second.steps.includes('stopped'))

  first.finish()
  assert.equal(await call, 'first')
  await eventually(() => first.steps.includes('stopped'))
  assert.deepEqual(first.steps, ['replaced', 'ended 200', 'stopped'])
})

test('a reload that leaves no request behind stops the old list', async (t) => {
  const first = lasting('first')
  const running = await serving(t, first.list)

  await running.swap(lasting('second').list)

  await eventually(() => first.steps.includes('stopped'))
  assert.deepEqual(first.steps, ['replaced', 'stopped'])
})

test('if several reloads wait for requests of the old list, the last one is served', async (t) => {
  const { running, first, url, call } = await started(t, { drainLimit: 20_000 })
  await running.swap(lasting('second').list)
  const names = ['third', 'fourth', 'fifth']
  const waiting = Promise.all(names.map((name) => running.swap(lasting(name).list)))
  first.finish()
  assert.equal(await call, 'first')
  assert.deepEqual(await waiting, [false, false, true])
  assert.equal(await textOf(url), 'fifth')
})

test('a reload is done when its list serves, and the next reload waits for requests of the old list', async (t) => {
  const { running, first, url, call } = await started(t, { drainLimit: 20_000 })

  await running.swap(lasting('second').list)
  assert.equal(await textOf(url), 'second')
  const next = running.swap(lasting('third').list)
  assert.equal(await textOf(url), 'second')
  assert.deepEqual(first.steps, [])

  first.finish()
  assert.equal(await call, 'first')
  await next
  assert.equal(await textOf(url), 'third')
  assert.deepEqual(first.steps, ['ended 200', 'replaced', 'stopped'])
})

test('a call that outlasts even the limit of a replaced list is cut off', async (t) => {
  const { running, first, call } = await started(t, { drainLimit: 20, replacedDrainLimit: 50 })

  await running.swap(lasting('second').list)

  await assert.rejects(call, { code: 'ECONNRESET' })
  await eventually(() => first.steps.includes('stopped'))
})

test('a stop gives the calls of replaced lists its own limit, and returns when those lists have stopped', async (t) => {
  const { running, first, call } = await started(t, { drainLimit: 20 })
  await running.swap(lasting('second').list)
  await eventually(() => first.steps.length > 0)

  const stopped = running.stop(20_000, 0)
  first.finish()
  assert.equal(await call, 'first')
  await stopped
  assert.deepEqual(first.steps, ['replaced', 'ended 200', 'stopped'])
})

test('a stop cuts off the calls of replaced lists after its limit', async (t) => {
  const { running, first, call } = await started(t, { drainLimit: 20 })
  await running.swap(lasting('second').list)

  const began = Date.now()
  await running.stop(50, 0)
  assert.ok(Date.now() - began < 5_000)
  assert.equal(first.steps.at(-1), 'stopped')
  await assert.rejects(call, { code: 'ECONNRESET' })
})

test('with too many replaced lists the oldest is cut off', async (t) => {
  const first = lasting('first')
  const running = await serving(t, lasting('idle').list, { drainLimit: 20 })
  await running.swap(first.list)
  const url = running.addresses.main ?? ''
  const call = textOf(`${url}/slow`)
  call.catch(() => {})
  await first.arrival
  const later: ReturnType<typeof lasting>[] = []
  for (let round = 0; round < 4; round++) {
    const next = lasting(`later ${round}`)
    await running.swap(next.list)
    textOf(`${url}/slow`).catch(() => {})
    await next.arrival
    later.push(next)
  }

  await running.swap(lasting('last').list)
  await assert.rejects(call, { code: 'ECONNRESET' })
  await eventually(() => first.steps.includes('stopped'))
  assert.ok(later.every(({ steps }) => !steps.includes('stopped')))
})

test('a port that a later reload closes stays for a call of an earlier list', async (t) => {
  const { running, first, url, call } = await started(t, { drainLimit: 20 })
  const second = lasting('second')
  await running.swap(second.list)

  const [, ...withoutPort] = lasting('third').list
  await running.swap(withoutPort)
  await assert.rejects(textOf(url), { code: 'ECONNREFUSED' })
  first.finish()

  assert.equal(await call, 'first')
  await eventually(() => first.steps.includes('stopped') && second.steps.includes('stopped'))
})

/** A gateway with a call that lasts, on a connection that would stay open. */
async function keptAlive(t: TestContext, first: ReturnType<typeof lasting>) {
  const running = await serving(t, first.list, { drainLimit: 20 })
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const call = ask(`${running.addresses.main}/slow`, agent)
  await first.arrival
  return { running, call }
}

test('keep-alive ends with the port of a call, and not with a reload that keeps the port', async (t) => {
  const [, ...withoutPort] = lasting('other').list
  const { list } = lasting('second')
  for (const [connection, ...reloads] of [
    ['keep-alive', list],
    ['close', withoutPort],
    ['close', list, withoutPort],
  ] as const) {
    const first = lasting('first')
    const { running, call } = await keptAlive(t, first)
    for (const reload of reloads) await running.swap(reload)
    await eventually(() => first.steps.length > 0)
    first.finish()

    assert.equal((await call).headers.connection, connection)
  }
})

test('a background task ends with the reload that replaces its list, although calls last', async (t) => {
  const first = lasting('first')
  let ends = 0
  const task = providing('task', BackgroundTask, {
    over: new Promise<void>(() => {}),
    end: () => {
      ends++
    },
  })
  const running = await serving(t, [...first.list, task], { drainLimit: 20 })
  const call = textOf(`${running.addresses.main}/slow`)
  await first.arrival

  await running.swap(lasting('second').list)

  assert.equal(ends, 1)
  first.finish()
  assert.equal(await call, 'first')
})

test('a stop while a reload waits gives the calls of the replaced list the whole limit', async (t) => {
  const { running, first, call } = await started(t, { drainLimit: 500 })
  await running.swap(lasting('second').list)

  const stopped = running.stop(20_000, 0)
  await eventually(() => first.steps.includes('replaced'))
  first.finish()

  assert.equal(await call, 'first')
  await stopped
  assert.deepEqual(first.steps.slice(-3), ['replaced', 'ended 200', 'stopped'])
})

test('a stop turns keep-alive off, for the calls of replaced lists too', async (t) => {
  for (const reloads of [[], [lasting('second').list]]) {
    const first = lasting('first')
    const { running, call } = await keptAlive(t, first)
    for (const list of reloads) await running.swap(list)

    const stopped = running.stop(20_000, 0)
    first.finish()

    assert.equal((await call).headers.connection, 'close')
    await stopped
  }
})
