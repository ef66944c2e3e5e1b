import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { faultyDisk, noCompiler } from '#kit/faulty-disk.js'
import { folder } from '#kit/folder.js'
import { noDisk, smallDisk } from '#kit/small-disk.js'
import { startedProgram } from '#kit/started-program.js'
import { browse, realLogin } from '../credential/oauth/real-provider.js'
import { call, send } from '../forward/proxied.js'
import { textIn } from './stored.js'
import { storing } from './storing.js'

const times = (text: string, part: string): number => text.split(part).length - 1
const CANNOT = 'values cannot be saved: they last'
const AGAIN = 'values are saved again'

interface Disk {
  readonly mountPoint: string
  readonly environment: Readonly<Record<string, string>>
  readonly begin: () => void
  readonly end: () => void
}

const DISKS: Readonly<Record<string, readonly [string | undefined, (t: TestContext) => Disk]>> = {
  full: [
    noDisk,
    (t) => {
      const { mountPoint, faults } = smallDisk(t)
      return { mountPoint, environment: {}, ...faults.full }
    },
  ],
  'read-only': [
    noCompiler,
    (t) => {
      const { environment, readOnly } = faultyDisk(t)
      return { mountPoint: folder(t), environment, ...readOnly }
    },
  ],
}

for (const [fault, [skip, diskOf]] of Object.entries(DISKS)) {
  test(`a ${fault} disk ends no login: it is refreshed and used, and saved as soon as possible`, {
    skip: skip ?? false,
  }, async (t) => {
    const { mountPoint, environment, begin, end } = diskOf(t)
    const { target, counts } = await realLogin(t, { life: 3 })
    const flags = [`--target-uri=${target}`, '--remote-auth', '--remote-auth-skip-browser']
    const ports = ['--port=0', '--remote-auth-callback-port=0', '--internal-address=127.0.0.1:0']
    const start = () =>
      startedProgram(t, ['proxy', 'mine', ...flags, ...ports], {
        environment: { XDG_STATE_HOME: mountPoint, ...environment },
        patience: 30,
      })
    const proxy = start()
    const main = await proxy.ready()
    await browse(await proxy.until(/(?<=^Open this URL to sign in: )\S+$/m))
    assert.equal((await send(main, call(1))).status, 200)
    const [, internal] = /health and metrics on (http:[^)]+)/.exec(proxy.output.stdout) ?? []
    const health = async () => (await send(String(internal), { path: '/readiness' })).body
    const directory = join(mountPoint, 'sallyport')

    // Again and again: what is written meanwhile may find room in what the log has of the disk.
    await eventually(async () => {
      begin()
      assert.equal((await send(main, call(1))).status, 200)
      return times(proxy.output.stderr, CANNOT) > 0
    }, 60)
    const before = textIn(directory)
    const { refreshes } = counts
    await eventually(async () => {
      const { status, body } = await send(main, call(1))
      assert.equal(status, 200, body)
      return counts.refreshes >= refreshes + 3
    }, 30)
    assert.equal(textIn(directory), before)
    assert.match(await health(), /cannot be saved: (?:the disk is full|the disk fails|it can only be read)/)
    assert.deepEqual([times(proxy.output.stderr, CANNOT), times(proxy.output.stderr, AGAIN)], [1, 0])

    end()
    await eventually(() => times(proxy.output.stderr, AGAIN) === 1)
    assert.notEqual(textIn(directory), before)
    assert.doesNotMatch(await health(), /cannot be saved/)
    assert.equal((await send(main, call(1))).status, 200)
    proxy.process.kill('SIGTERM')
    assert.equal(await proxy.ended(), 0)

    // The newest session was saved: the issuer would refuse any other.
    const next = start()
    assert.equal((await send(await next.ready(), call(1))).status, 200)
    assert.deepEqual([counts.logins, counts.refused], [1, 0])
  })
}

test('a disk that can only be read stops a start, and the message says so', {
  skip: noDisk ?? false,
}, async (t) => {
  const { mountPoint, faults } = smallDisk(t)
  faults['read-only'].begin()
  await assert.rejects(
    storing(t, [{ use: 'state/sqlite', with: { directory: mountPoint } }]),
    /cannot keep state in .*state\.sqlite: the disk is read-only \(EROFS\)/,
  )
})

test('a value that another process has saved since is newer than a pending write', {
  skip: noDisk ?? false,
}, async (t) => {
  const { mountPoint } = smallDisk(t)
  const { store, lines } = await storing(t, [{ use: 'state/sqlite', with: { directory: mountPoint } }])
  const large = 'x'.repeat(300_000)
  await store.set('key', large)
  assert.equal(await store.get('key'), large)

  const { store: other } = await storing(t, [{ use: 'state/sqlite', with: { directory: mountPoint } }])
  assert.equal(await other.get('key'), undefined)
  await other.set('key', 'newer')
  assert.equal(await store.get('key'), 'newer')
  assert.ok(lines.some(({ msg }) => String(msg).startsWith(CANNOT)))
  await eventually(() => lines.some(({ msg }) => msg === AGAIN))
  assert.equal(await other.get('key'), 'newer')
})
