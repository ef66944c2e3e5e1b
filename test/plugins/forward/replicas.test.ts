import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Replica, Replicas } from '#plugins/forward/replicas.js'

test('a session in use is not forgotten, however many others begin', () => {
  const replicas = new Replicas(['http://a', 'http://b'], 0)
  const nobody = new Set<never>()
  const begin = (session: string): Replica => {
    const by = replicas.choose(undefined, nobody) ?? assert.fail()
    replicas.sessionStarted(session, by)
    return by
  }
  const twenty = (kind: string) =>
    new Map(Array.from({ length: 20 }, (_, index) => [kind + index, begin(kind + index)]))
  const [used, left] = [twenty('used'), twenty('left')]
  const lost = (sessions: ReadonlyMap<string, Replica>): number =>
    [...sessions].filter(([session, by]) => replicas.choose(session, nobody) !== by).length
  for (let others = 0; others < 30_000; others++) {
    begin(`other-${others}`)
    if (others % 1_000 === 0) assert.equal(lost(used), 0)
  }
  assert.equal(lost(used), 0)
  assert.notEqual(lost(left), 0)
})
