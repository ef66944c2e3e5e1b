import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { startedProgram } from '#kit/started-program.js'
import { lives, ofTwo, once, reached } from './several.js'

test('when the primary process is killed, no worker is left', async (t) => {
  const gateway = await ofTwo(t)
  gateway.process.kill('SIGKILL')
  await eventually(() => [...gateway.pids().values()].every((pid) => !lives(pid)) || undefined)
  assert.equal((await once(`${gateway.url}/`, 'after')).code, 'ECONNREFUSED')
})

test('an interrupt from the terminal reaches all processes, and stops the gateway once', async (t) => {
  const gateway = await ofTwo(t)
  const slow = once(`${gateway.url}/?id=slow-1&ms=1500`, 'slow')
  await eventually(() => reached(gateway.home, 'slow').length > 0 || undefined)

  process.kill(-(gateway.process.pid ?? assert.fail()), 'SIGINT')
  assert.equal((await slow).status, 200)
  assert.equal(await gateway.ended(), 0)
  assert.equal(gateway.lines('asked to stop').length, 1)
  assert.deepEqual(gateway.lines('a worker died'), [])
})

test('a worker that dies before all are ready ends the start', async (t) => {
  const home = folder(t, {
    'gateway.yaml':
      "plugins:\n  - use: listen/http\n    with: { address: '127.0.0.1:0' }\n  - use: ./dies.mjs\n",
    'dies.mjs': "export default { name: 'dies', api: 1, setup: () => process.kill(process.pid, 'SIGKILL') }",
  })
  const gateway = startedProgram(t, ['run', '--config', join(home, 'gateway.yaml'), '--workers', '2'])

  assert.equal(await gateway.ended(), 1)
  assert.equal(gateway.output.stdout, '')
  assert.match(gateway.output.stderr, /^sallyport: worker \d ended \(SIGKILL\)$/m)
})

test('workers that die as soon as they are ready are restarted after longer and longer pauses, and not for ever', async (t) => {
  const dies = `
    import { appendFileSync } from 'node:fs'
    export default {
      name: 'dies',
      api: 1,
      setup(gateway) {
        gateway.onReady(() => {
          appendFileSync(gateway.path('born'), process.pid + '\\n')
          // The primary hears that it is ready, which is the point of this.
          setTimeout(() => process.kill(process.pid, 'SIGKILL'), 100)
        })
      },
    }`
  const { port } = new URL(await closedPort())
  const home = folder(t, {
    'gateway.yaml': `plugins:\n  - use: listen/http\n    with: { address: '127.0.0.1:${port}' }\n  - use: ./dies.mjs\n`,
    'dies.mjs': dies,
    born: '',
  })
  const gateway = startedProgram(t, ['run', '--config', join(home, 'gateway.yaml'), '--workers', '2'])

  assert.equal(await gateway.ended(), 1)
  // A worker that was just started may still write a line of its own after it.
  assert.match(gateway.output.stderr, /^sallyport: worker \d ended \d times in a row \(SIGKILL\)$/m)
  const waits = [...gateway.output.stderr.matchAll(/"worker":1,.*"wait":(\d+)/g)].map(([, wait]) =>
    Number(wait),
  )
  assert.deepEqual(waits, [0, 250, 500, 1000, 2000, 4000].slice(0, waits.length))
  assert.ok(waits.length >= 3, String(waits))
  assert.ok(readFileSync(join(home, 'born'), 'utf8').trim().split('\n').length <= 12)
})
