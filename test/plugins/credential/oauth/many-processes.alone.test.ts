import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { startedProgram } from '#kit/started-program.js'
import { call, send } from '../../forward/proxied.js'
import { browse, realLogin } from './real-provider.js'

const PROCESSES = 20
// As many at once as a small machine starts without getting slower.
const AT_ONCE = 4
// Seconds that some of them may take to start while the machine is busy.
const patience = 60

test('twenty processes with one store, and an issuer that accepts a refresh token once: one refresh each round, and no login (T15, CL-22)', async (t) => {
  const { target, counts, refuseTokens } = await realLogin(t, { life: 3600 })
  const environment = { XDG_STATE_HOME: folder(t) }
  const flags = ['--remote-auth', '--remote-auth-skip-browser', '--remote-auth-callback-port=0']
  const started = () =>
    startedProgram(t, ['proxy', 'mine', `--target-uri=${target}`, ...flags], { environment, patience })

  const first = started()
  const mains = [await first.ready()]
  await browse(await first.until(/(?<=^Open this URL to sign in: )\S+$/m))
  assert.equal((await send(mains[0] ?? '', call(1))).status, 200)
  while (mains.length < PROCESSES) {
    const some = Array.from({ length: Math.min(AT_ONCE, PROCESSES - mains.length) }, started)
    mains.push(...(await Promise.all(some.map((each) => each.ready()))))
  }

  const before = counts.refreshes
  for (const round of [1, 2, 3, 4, 5]) {
    refuseTokens()
    const asked = mains.flatMap((main) => [send(main, call(1)), send(main, call(2))])
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    assert.deepEqual([...new Set(statuses)], [200])
    assert.deepEqual(counts, { refreshes: before + round, logins: 1, refused: 0 })
  }
})
