import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { deferred } from '#kit/deferred.js'
import { fakeClock } from '#kit/fake-clock.js'
import { ReconnectingTunnel } from '#plugins/tunnel/connection/reconnecting.js'

function warningsIn(t: TestContext): readonly string[] {
  const warnings: string[] = []
  const note = ({ name }: Error): void => void warnings.push(name)
  process.on('warning', note)
  t.after(() => process.off('warning', note))
  return warnings
}

test('a tunnel that is lost again and again leaks nothing each time', async (t) => {
  const clock = fakeClock(t)
  const warnings = warningsIn(t)
  const losing: ((reason: string) => void)[] = []
  const closed: number[] = []
  const connection = new ReconnectingTunnel({
    tunnel: {
      name: 'lost',
      key: 'lost',
      async open() {
        const { promise: lost, resolve: lose } = deferred<string>()
        const place = losing.push(lose)
        return {
          url: 'https://a.example',
          lost,
          close: async () => void closed.push(place),
        }
      },
    },
    local: new URL('http://127.0.0.1:1'),
    timeout: 1_000,
    log: recordedLog().log,
  })
  await connection.firstOpened

  for (let times = 1; times <= 20; times++) {
    losing.at(-1)?.('lost')
    await clock.advance(61_000)
    await eventually(() => (losing.length === times + 1 ? true : undefined))
  }
  assert.deepEqual(connection.check(), { status: 'ok' })
  await connection.close()
  assert.equal(closed.length, 21)
  assert.deepEqual(warnings, [])
})
