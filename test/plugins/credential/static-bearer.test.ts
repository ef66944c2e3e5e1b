import assert from 'node:assert/strict'
import { chmodSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ConfigError } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { proxied, send } from '../forward/proxied.js'

/** A proxy with the token of a file, and a target that responds with the token it got. */
async function proxyWithTokenFile(t: TestContext, token: string) {
  const file = join(folder(t, { token }), 'token')
  chmodSync(file, 0o600)
  let asked = 0
  const target = await listening(t, ({ headers }, response) => {
    asked++
    response.end(headers.authorization ?? 'none')
  })
  const { main, lines } = await proxied(t, target, {}, [{ use: 'credential/static-bearer', with: { file } }])
  return {
    file,
    lines,
    asked: () => asked,
    sent: async () => (await send(main, { headers: { authorization: 'Bearer callers' } })).body,
    status: async () => (await send(main)).status,
  }
}

/** Resolves when `look` gives `wanted`. */
const eventuallyEquals = <T>(look: () => Promise<T>, wanted: T): Promise<true> =>
  eventually(async () => ((await look()) === wanted ? true : undefined))

test('the token of a file is sent, and the new one when the file is written again or renamed over', async (t) => {
  const { file, sent } = await proxyWithTokenFile(t, 'first-token\n')
  assert.equal(await sent(), 'Bearer first-token')

  writeFileSync(file, 'second-token\n')
  await eventuallyEquals(sent, 'Bearer second-token')

  for (const token of ['third-token', 'fourth-token']) {
    writeFileSync(`${file}.next`, token, { mode: 0o600 })
    renameSync(`${file}.next`, file)
    await eventuallyEquals(sent, `Bearer ${token}`)
  }
})

test('while the file holds no valid token, no request reaches the target (T10)', async (t) => {
  const { file, lines, asked, sent, status } = await proxyWithTokenFile(t, 'first-token')
  assert.equal(await status(), 200)

  writeFileSync(file, 'not-a-token\r\nX-Injected: 1')
  await eventuallyEquals(status, 503)
  const before = asked()
  assert.equal(await status(), 503)
  assert.equal(asked(), before)

  writeFileSync(file, 'second-token')
  await eventuallyEquals(sent, 'Bearer second-token')
  assert.doesNotMatch(JSON.stringify(lines), /first-token|second-token|X-Injected/)
  assert.ok(JSON.stringify(lines).includes(`${file} holds no bearer token`))
})

test('an emptied file keeps the last token', async (t) => {
  const { file, lines, sent } = await proxyWithTokenFile(t, 'first-token')

  writeFileSync(file, '')
  await eventually(() => lines.find(({ msg }) => String(msg).includes('its last valid content')))

  assert.equal(await sent(), 'Bearer first-token')
})

test('a file that is missing, empty or holds no token stops the start', async (t) => {
  const path = folder(t, { empty: '', words: 'two words' })
  for (const name of ['missing', 'empty', 'words']) {
    const file = join(path, name)
    const started = proxied(t, 'http://127.0.0.1:1', {}, [
      { use: 'credential/static-bearer', with: { file } },
    ])
    await assert.rejects(started, (error: Error) => {
      assert.ok(error instanceof ConfigError, String(error))
      assert.doesNotMatch(error.message, /two words/)
      assert.match(error.problems[0]?.place ?? '', /\bfile\b/)
      return true
    })
  }
})

contractSuite('credential/static-bearer', () => ({
  list: [{ use: 'credential/static-bearer', with: { token: 'a-token-of-ours' } }],
}))
