import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reallyWait } from '#kit/fake-clock.js'
import { folder } from '#kit/folder.js'
import { issuing } from '#kit/issuer.js'
import { allServed, PLATFORM, publishable, publishingProgram, publishTo } from './publishing-program.js'

const ROUNDS = 8
const WRITERS = 6

test('after kill -9 at any moment, every confirmed publication is served exactly once', async (t) => {
  const issuer = await issuing(t)
  const home = folder(t)
  // Each has a rate of its own.
  const tokens = await Promise.all(
    Array.from({ length: WRITERS }, (_, index) => issuer.jwt({ ...PLATFORM, sub: `writer-${index}` })),
  )
  const sent = new Set<string>()
  const answered = new Set<string>()
  const publishOn = async (origin: string, round: number, writer: number): Promise<void> => {
    for (let count = 0; ; count++) {
      const name = `com.example/s${writer}`
      const version = `${round}.${count}.0`
      sent.add(`${name}@${version}`)
      const response = await publishTo(origin, tokens[writer] ?? '', publishable(name, version))
      assert.equal(response.status, 200, await response.clone().text())
      await response.arrayBuffer()
      answered.add(`${name}@${version}`)
    }
  }

  for (let round = 0; round < ROUNDS; round++) {
    const { process, origin } = await publishingProgram(t, issuer, { home })
    const writing = tokens.map((_, writer) => publishOn(origin, round, writer))
    // A refusal is a fault of the registry, a broken connection is the kill.
    const ends = writing.map((each) =>
      each.catch((error: unknown) => {
        if (error instanceof assert.AssertionError) throw error
      }),
    )
    await reallyWait(40 + round * 67)
    process.process.kill('SIGKILL')
    await Promise.all([...ends, process.ended()])
  }

  const { origin } = await publishingProgram(t, issuer, { home })
  const served = (await allServed(origin, tokens[0] ?? '')).map(
    ({ server: { name, version } }) => `${name}@${version}`,
  )
  assert.ok(answered.size > ROUNDS, `${answered.size} were answered`)
  assert.equal(new Set(served).size, served.length)
  const all = new Set(served)
  assert.deepEqual(
    [...answered].filter((each) => !all.has(each)),
    [],
  )
  assert.deepEqual(
    served.filter((each) => !sent.has(each)),
    [],
  )
  t.diagnostic(`${answered.size} answered, ${served.length} served, ${sent.size} sent`)
})
