import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted, recordedLog } from '#kit/booted.js'
import { plugin } from '#kit/plugin.js'

test('every line of a request has its id, and no two requests have the same', async (t) => {
  const { log, lines } = recordedLog()
  const talking = plugin('talking', ({ http }) => {
    http.get('/', { config: { public: true } }, ({ id, log: own }) => {
      for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) own[level]('said')
      own.child({ part: 'inner' }).info('said')
      return id
    })
  })
  const app = await booted(t, [talking], { log })
  const ids = [(await app.inject('/')).body, (await app.inject('/')).body]

  assert.notEqual(ids[0], ids[1])
  const said = lines.filter(({ msg }) => msg === 'said')
  for (const id of ids) {
    assert.deepEqual(
      said.filter(({ reqId }) => reqId === id).map(({ level }) => level),
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'info'],
    )
  }
  assert.equal(said.length, 14)
})
