import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { anew, type Gateway, listText, lives, ofTwo, once, reached } from './several.js'

/** A plugin that starts when its process is let go, and not before. */
const WAITS = `
  import { appendFileSync, readFileSync } from 'node:fs'
  import { setTimeout } from 'node:timers/promises'
  const has = (file) => readFileSync(file, 'utf8').split('\\n').includes(String(process.pid))
  export default {
    name: 'waits',
    api: 1,
    setup(gateway) {
      gateway.onStart(async () => {
        appendFileSync(gateway.path('starting'), process.pid + '\\n')
        while (!has(gateway.path('go'))) await setTimeout(20)
      })
    },
  }`

const files = { 'waits.mjs': WAITS, starting: '', go: '' }

/** Asks for a list that every worker waits in the middle of. */
function exchange({ home, internal, process: first }: Gateway): void {
  writeFileSync(join(home, 'gateway.yaml'), listText(internal, '  - { use: ./waits.mjs }'))
  first.kill('SIGHUP')
}

const started = ({ home }: Gateway): readonly number[] =>
  readFileSync(join(home, 'starting'), 'utf8').trim().split('\n').map(Number)

const letGo = ({ home }: Gateway, pid: number): void => appendFileSync(join(home, 'go'), `${pid}\n`)

const another = (gateway: Gateway, known: readonly number[]): Promise<number> =>
  eventually(() => started(gateway).find((pid) => pid > 0 && !known.includes(pid)), 60)

/** Asserts that exactly these workers answer requests. */
async function answering({ url }: Gateway, ...pids: readonly number[]): Promise<void> {
  const seen = new Set<number>()
  // A worker that accepts connections slowly gets fewer of them.
  for (let asked = 0; asked < 8 || (asked < 200 && seen.size < pids.length); asked++) {
    seen.add(Number((await anew(url, `${asked}`)).body))
  }
  assert.deepEqual(seen, new Set(pids))
}

test('a worker killed during a swap of lists leaves the others serving, and the next swap succeeds', async (t) => {
  const gateway = await ofTwo(t, { files })
  const [first, second] = [gateway.pidOf(1), gateway.pidOf(2)]

  // The first worker is killed: the new list is not proven yet, so no worker serves it.
  exchange(gateway)
  assert.equal(await another(gateway, []), first)
  process.kill(first, 'SIGKILL')
  assert.match(await gateway.until(/\{.*is not in force.*\}/), /worker 1 ended \(SIGKILL\)/)
  assert.equal((await once(gateway.url, 'still')).status, 200)
  await eventually(() => gateway.lines('a worker is ready').length === 3 || undefined, 60)
  const instead = gateway.pidOf(1)
  await answering(gateway, instead, second)
  assert.deepEqual(started(gateway), [first])

  // A later worker is killed: the list is in force, and the new worker serves it.
  exchange(gateway)
  const one = await another(gateway, [first])
  letGo(gateway, one)
  const other = await another(gateway, [first, one])
  assert.deepEqual(new Set([one, other]), new Set([instead, second]))
  process.kill(other, 'SIGKILL')
  await gateway.until(/is in force"/)
  const last = await another(gateway, [first, one, other])
  await answering(gateway, one)
  letGo(gateway, last)
  await eventually(() => [...gateway.pids().values()].includes(last) || undefined, 60)
  await answering(gateway, one, last)

  gateway.process.kill('SIGTERM')
  assert.equal(await gateway.ended(), 0)
})

test('a worker killed during the stop loses only its own requests, and the exit code stays 0', async (t) => {
  const gateway = await ofTwo(t)
  const pids = [...gateway.pids().values()]
  const slow = ['slow-1', 'slow-2'].map((id) => once(`${gateway.url}/?id=${id}&ms=2500`, id))
  await eventually(() => reached(gateway.home, 'slow').length === 2 || undefined)

  gateway.process.kill('SIGTERM')
  await gateway.until(/asked to stop/)
  const [killed = 0, other = 0] = pids
  process.kill(killed, 'SIGKILL')
  const answers = await Promise.all(slow)
  const outcomes = answers.map(({ status, code }) => String(status ?? code))
  assert.deepEqual(outcomes.toSorted(), ['200', 'ECONNRESET'])
  assert.equal(answers.find(({ status }) => status === 200)?.body, String(other))
  assert.equal(await gateway.ended(), 0)
  assert.deepEqual(gateway.lines('a worker died'), [])
  assert.deepEqual(pids.filter(lives), [])
})

test('a stop during a swap of lists ends the gateway, also when a worker is killed', async (t) => {
  const gateway = await ofTwo(t, { files })
  const pids = [...gateway.pids().values()]
  exchange(gateway)
  const first = await another(gateway, [])
  gateway.process.kill('SIGTERM')
  await gateway.until(/asked to stop/)
  // It may have ended by itself.
  if (lives(first)) process.kill(first, 'SIGKILL')

  assert.equal(await gateway.ended(), 0)
  assert.deepEqual(pids.filter(lives), [])
})
