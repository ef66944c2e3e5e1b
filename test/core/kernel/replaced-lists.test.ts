import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type AccessSink, AccessSink as accessSink, definePlugin, type Gateway } from 'sallyport'
import type { ServeContext } from 'sallyport/embed'
import { recordedLog, serving } from '#kit/booted.js'

const listen = { use: 'listen/http', with: { address: '127.0.0.1:0' } }

/** A list whose one route answers when `finish` is called; `steps` are those that it went through, in order. */
function lasting(name: string) {
  const steps: string[] = []
  let finish: (text: string) => void = () => {}
  let arrived: () => void = () => {}
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const answer = new Promise<string>((resolve) => {
    finish = resolve
  })
  const sink: AccessSink = { from: 0, ended: ({ status }) => void steps.push(`ended ${status}`) }
  const setup = (gateway: Gateway): void => {
    gateway.http.get('/', { config: { public: true } }, () => name)
    gateway.http.get('/lasting', { config: { public: true } }, () => {
      arrived()
      return answer
    })
    gateway.provide(accessSink, sink)
    gateway.onReplaced(() => void steps.push('replaced'))
    gateway.onStop(() => void steps.push('stopped'))
  }
  const use = definePlugin({ name, api: 1, provides: [accessSink], setup })
  return { list: [listen, { use }], steps, arrival, finish: () => finish(name) }
}

async function ask(url: string): Promise<string> {
  const [response] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return text
}

async function started(t: TestContext, context: Partial<ServeContext>) {
  const first = lasting('first')
  const { log, lines } = recordedLog()
  const running = await serving(t, first.list, { log, ...context })
  const url = running.addresses.main ?? ''
  const call = ask(`${url}/lasting`)
  call.catch(() => {})
  await first.arrival
  return { running, first, url, call, lines }
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 5_000
  while (!condition()) {
    assert.ok(Date.now() < deadline, 'it did not come in time')
    await pause(10)
  }
}

test('a call that outlasts a reload gets its response, and then its list stops', async (t) => {
  const { running, first, url, call, lines } = await started(t, { drainLimit: 20 })

  await running.swap(lasting('second').list)
  assert.equal(await ask(url), 'second')
  assert.deepEqual(first.steps, ['replaced'])
  assert.ok(
    lines.some(({ msg, requests }) => /go on with the configuration/.test(String(msg)) && requests === 1),
  )
  // Nor does it hold up another reload.
  await running.swap(lasting('third').list)
  assert.equal(await ask(url), 'third')

  first.finish()
  assert.equal(await call, 'first')
  await until(() => first.steps.includes('stopped'))
  assert.deepEqual(first.steps, ['replaced', 'ended 200', 'stopped'])
})

test('a reload that leaves no request behind has stopped the list before', async (t) => {
  const first = lasting('first')
  const running = await serving(t, first.list)

  await running.swap(lasting('second').list)

  assert.deepEqual(first.steps, ['replaced', 'stopped'])
})

test('a call that outlasts even the limit of a replaced list is cut off', async (t) => {
  const { running, first, call } = await started(t, { drainLimit: 20, replacedDrainLimit: 50 })

  await running.swap(lasting('second').list)

  await assert.rejects(call, { code: 'ECONNRESET' })
  await until(() => first.steps.includes('stopped'))
})

test('a stop gives the calls of replaced lists its own limit, and returns when those lists have stopped', async (t) => {
  const { running, first, call } = await started(t, { drainLimit: 1_000 })
  await running.swap(lasting('second').list)

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

test('of many replaced lists the oldest is cut off', async (t) => {
  const { running, first, url, call } = await started(t, { drainLimit: 20 })
  const later: ReturnType<typeof lasting>[] = []
  for (let round = 0; round < 4; round++) {
    const next = lasting(`later ${round}`)
    await running.swap(next.list)
    assert.deepEqual(first.steps, ['replaced'])
    ask(`${url}/lasting`).catch(() => {})
    await next.arrival
    later.push(next)
  }

  await running.swap(lasting('last').list)
  await assert.rejects(call, { code: 'ECONNRESET' })
  await until(() => first.steps.includes('stopped'))
  assert.ok(later.every(({ steps }) => !steps.includes('stopped')))
})
