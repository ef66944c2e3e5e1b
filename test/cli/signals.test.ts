import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { noTerminal, onTerminal } from '#kit/spawned.js'
import { bin, startedProgram } from '#kit/started-program.js'
import { lives } from './workers/several.js'

const LONG = ['--drain-delay', '1h']

/** A proxy whose target is away: whatever it answers, its port is open. */
async function proxy(t: TestContext, argv: readonly string[], environment = {}) {
  const target = ['--target-uri', await closedPort(), '--internal-address', '127.0.0.1:0']
  const running = startedProgram(t, ['proxy', 'notes', ...target, ...argv], { environment, patience: 60 })
  const main = await running.ready()
  const [, internal = ''] = /metrics on (http:\S+)\)/.exec(running.output.stdout) ?? []
  const status = async (url: string): Promise<number> =>
    (await fetch(url, { headers: { connection: 'close' } })).status
  return { ...running, main, internal, status }
}

for (const argv of [[], ['--workers', '2']]) {
  const name = ['a gateway', ...argv].join(' ')
  test(`${name}, once stopped, still serves, is not ready, does not reload, and ends at the second signal`, async (t) => {
    const {
      process: child,
      until,
      ended,
      main,
      internal,
      status,
      output,
    } = await proxy(t, [...LONG, ...argv])
    assert.equal(await status(`${internal}/readiness`), 200)

    child.kill('SIGTERM')
    await until(/"asked to stop"/)
    assert.equal(await status(`${internal}/readiness`), 503)
    assert.equal(await status(`${internal}/health`), 200)
    assert.equal(await status(main), 502)
    child.kill('SIGHUP')
    await until(/stopping: the configuration is not read again/)
    child.kill('SIGTERM')
    assert.equal(await ended(), 1)
    const workers = [...output.stderr.matchAll(/"pid":(\d+),"msg":"a worker is ready"/g)]
    assert.equal(workers.length, argv.length)
    await eventually(() => workers.every(([, pid]) => !lives(Number(pid))) || undefined)
  })

  test(`${name} opens no inspector on SIGUSR1, since other users of the machine could read its secrets`, async (t) => {
    const { process: child, ended, output } = await proxy(t, argv)
    const workers = [...output.stderr.matchAll(/"pid":(\d+),"msg":"a worker is ready"/g)]
    for (const pid of [child.pid, ...workers.map(([, pid]) => pid)]) process.kill(Number(pid), 'SIGUSR1')
    const reported = () => [...output.stderr.matchAll(/SIGUSR1 opens no inspector|Debugger listening/g)]
    await eventually(() => reported().length === 1 + workers.length || undefined, 60)
    child.kill('SIGTERM')
    assert.equal(await ended(), 0)
    assert.doesNotMatch(output.stderr, /Debugger listening/)
  })
}

test('the drain delay is 5 s in Kubernetes, and nothing elsewhere', async (t) => {
  const inside = await proxy(t, [], { KUBERNETES_SERVICE_HOST: '10.0.0.1' })
  inside.stop()
  assert.match(await inside.until(/\{.*not ready any more.*\}/), /"drainDelay":5000,/)

  const outside = await proxy(t, [])
  outside.stop()
  assert.equal(await outside.ended(), 0)
  assert.doesNotMatch(outside.output.stderr, /not ready any more/)
})

test('a stop during the start takes effect at once', async (t) => {
  const list = `
    - { use: listen/http, with: { address: 127.0.0.1:0, drainDelay: 1h } }
    - { use: ./hangs.mjs }`
  const hangs = `
    export default {
      name: 'hangs',
      api: 1,
      setup: (gateway) => gateway.onStart(() => new Promise(() => gateway.log.info('hanging'))),
    }`
  const home = folder(t, { 'gateway.yaml': list, 'hangs.mjs': hangs })
  for (const argv of [[], ['--workers', '2']]) {
    const starting = startedProgram(t, ['run', '--config', join(home, 'gateway.yaml'), ...argv], {
      patience: 60,
    })
    await starting.until(/"hanging"/)
    starting.stop()
    assert.equal(await starting.ended(), 0)
  }
})

test('an interrupt at a terminal has no drain delay', { skip: noTerminal }, async (t) => {
  const argv = ['proxy', 'notes', '--target-uri', await closedPort(), ...LONG]
  // `exec`: a shell that waits for the program would itself end by the interrupt.
  const command = ['exec', process.execPath, bin, ...argv].join(' ')
  const { process: child, output, closed } = onTerminal(t, command, process.env)
  await eventually(() => output.stdout.includes('listening on'), 60)

  child.stdin?.write('\x03')
  assert.equal((await closed)[0], 0, output.stdout)
})

for (const argv of [[], ['--workers', '2']]) {
  test(`a warning of Node is a line of the log ${argv.join(' ')}`, async (t) => {
    const warns = `
      export default {
        name: 'warns',
        api: 1,
        setup: (gateway) => gateway.onReady(() => process.emitWarning('soon to be gone', 'DeprecationWarning', 'DEP1')),
      }`
    const list = `
      - { use: listen/http, with: { address: 127.0.0.1:0 } }
      - { use: ./warns.mjs }`
    const config = join(folder(t, { 'gateway.yaml': list, 'warns.mjs': warns }), 'gateway.yaml')
    const reported = async (environment: Record<string, string>) => {
      const running = startedProgram(t, ['run', '--config', config, ...argv], { environment, patience: 60 })
      await running.ready()
      running.stop()
      assert.equal(await running.ended(), 0)
      const lines = running.output.stderr.trimEnd().split('\n')
      return lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'Node warns')
    }
    const [{ level, err } = {}] = await reported({})
    assert.equal(level, 'warn')
    assert.equal(err?.message, 'soon to be gone')
    assert.deepEqual(await reported({ NODE_NO_WARNINGS: '1' }), [])
  })
}
