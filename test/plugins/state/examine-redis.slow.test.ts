import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'
import { noRedis, testRedis } from '#kit/redis.js'

const skip = noRedis ?? false

/** What doctor says of a list that stores and counts in this Redis. */
async function examined(t: TestContext, url: string) {
  const limits = [{ by: 'caller', rate: '5/1m' }]
  const plugins = [
    { use: 'auth/anonymous' },
    { use: 'state/redis', with: { url, passphrase: 'open sesame' } },
    { use: 'limit/requests', with: { limits, redis: url } },
  ]
  const home = folder(t, { 'run.json': JSON.stringify({ plugins }) })
  const doctor = program(t, ['doctor', '--config', join(home, 'run.json')], { patience: 60 })
  const code = await doctor.ended()
  return { code, text: doctor.output.stdout + doctor.output.stderr }
}

test('doctor checks whether Redis answers, is durable, and has the right time', {
  skip,
}, async (t) => {
  const redis = await testRedis(t, { password: 'p4ssw0rd' })

  const good = await examined(t, redis.url)
  assert.equal(good.code, 0, good.text)
  for (const said of [/it answers at 127\.0\.0\.1:/, /it keeps what is written/, /agrees with the clock/])
    assert.match(good.text, said)

  await redis.client().config('SET', 'appendonly', 'no')
  const forgetful = await examined(t, redis.url)
  assert.equal(forgetful.code, 1)
  assert.match(forgetful.text, /REDIS_NOT_DURABLE|appendonly yes/)

  await redis.client().config('SET', 'appendonly', 'yes', 'maxmemory', '1')
  const full = await examined(t, redis.url)
  assert.equal(full.code, 1)
  assert.match(full.text, /its memory is full/)

  const wrongUrl = redis.url.replace('p4ssw0rd', 'wr0ng-one')
  const wrong = await examined(t, wrongUrl)
  for (const { code, text } of [wrong, await examined(t, `${wrongUrl}/3`)]) {
    assert.equal(code, 1)
    assert.match(text, /refused the user or the password/)
  }

  await redis.kill()
  const away = await examined(t, redis.url)
  assert.equal(away.code, 1)
  assert.match(away.text, /nothing listens there/)
  for (const { text } of [good, forgetful, wrong, away]) assert.doesNotMatch(text, /p4ssw0rd|wr0ng-one/)
})
