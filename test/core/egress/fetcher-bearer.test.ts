import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { GatewayError } from 'sallyport'
import { createFetcher } from 'sallyport/toolkit'
import { capturedLog, eventually } from '#kit/captured-log.js'
import { fetching, resolveToLoopback } from '#kit/egress.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'

const here = {
  allowPrivate: true,
  allowInsecureHttp: true,
  resolve: resolveToLoopback,
}

test('T11: the token goes to the named origins and URLs, compared whole, and to no other', async (t) => {
  const file = tokenFile(t, 'mine\n')
  const echo = await echoing(t)
  const other = await echoing(t)
  const { port } = new URL(echo)
  const { fetch } = fetching(t, {
    ...here,
    bearer: { file, to: [echo, `${other}/keys?a=b`] },
  })
  const seen = async (url: string) => (await fetch(url)).text()

  assert.equal(await seen(`${echo}/any/path?x`), 'Bearer mine')
  assert.equal(await seen(`${other}/keys?a=b`), 'Bearer mine')
  const foreign = [
    ...[`${other}/`, `${other}/keys`, `${other}/keys?a=b&c`, `${other}/keys/?a=b`, `${other}/%6Beys?a=b`],
    ...[`http://localhost:${port}/`, `http://127.0.0.1.test:${port}/`],
  ]
  for (const url of foreign) assert.equal(await seen(url), 'none', url)
})

test('a request that has an Authorization header keeps it', async (t) => {
  const echo = await echoing(t)
  const { fetch } = fetching(t, {
    ...here,
    bearer: { file: tokenFile(t, 'mine'), to: [echo] },
  })

  const response = await fetch(echo, {
    headers: new Headers({ Authorization: 'Basic YTpi' }),
  })

  assert.equal(await response.text(), 'Basic YTpi')
})

test('the origins may grow while the gateway runs', async (t) => {
  const echo = await echoing(t)
  const to = new Set<string>()
  const { fetch } = fetching(t, {
    ...here,
    bearer: { file: tokenFile(t, 'mine'), to },
  })

  const before = await (await fetch(`${echo}/keys`)).text()
  to.add(`${echo}/keys`)

  assert.deepEqual([before, await (await fetch(`${echo}/keys`)).text()], ['none', 'Bearer mine'])
})

test('a token file is read again when it changes', async (t) => {
  const file = tokenFile(t, 'first')
  const echo = await echoing(t)
  const { fetch } = fetching(t, { ...here, bearer: { file, to: [echo] } })
  const seen = async () => (await fetch(echo)).text()
  assert.equal(await seen(), 'Bearer first')

  writeFileSync(file, 'second\n')

  await eventually(async () => ((await seen()) === 'Bearer second' ? true : undefined))
})

test('T10: a token file that holds no token fails when the fetcher is made, and is never quoted', (t) => {
  for (const content of ['canary one\ncanary two\n', 'canary\n\n', 'canary one', '\ufeffcanary']) {
    const bearer = { file: tokenFile(t, content), to: ['https://provider.test'] }
    assert.throws(
      () => createFetcher({ bearer }),
      (error: GatewayError) => error.code === 'EGRESS_BEARER_INVALID' && !/canary/.test(String(error)),
    )
  }
})

test('a token file that changes to an invalid token is ignored, and that is logged', async (t) => {
  const { log, lines } = capturedLog()
  const file = tokenFile(t, 'first')
  const echo = await echoing(t)
  const { fetch } = fetching(t, { ...here, bearer: { file, to: [echo] }, log })

  writeFileSync(file, 'canary one\ncanary two\n')

  await eventually(() => lines.find((line) => line.includes('keeps its last valid content')))
  assert.equal(await (await fetch(echo)).text(), 'Bearer first')
  assert.doesNotMatch(lines.join(), /canary/)
})

test('a token file that is missing or empty fails when the fetcher is made', (t) => {
  const to = ['https://provider.test']

  assert.throws(() => createFetcher({ bearer: { file: '/nonexistent/token', to } }), {
    code: 'FILE_UNREADABLE',
  })
  assert.throws(() => createFetcher({ bearer: { file: tokenFile(t, '\n'), to } }), { code: 'SECRET_EMPTY' })
})

test('a token file that every user may read causes a warning', (t) => {
  const { log, lines } = capturedLog()

  fetching(t, { bearer: { file: tokenFile(t, 'mine', 0o644), to: [] }, log })
  fetching(t, { bearer: { file: tokenFile(t, 'mine', 0o640), to: [] }, log })

  assert.equal(lines.filter((line) => line.includes('can read a secret file')).length, 1)
})

function tokenFile(t: TestContext, content: string, mode = 0o600): string {
  const file = join(folder(t), 'token')
  writeFileSync(file, content, { mode })
  return file
}

function echoing(t: TestContext): Promise<string> {
  return listening(t, ({ headers }, response) => response.end(headers.authorization ?? 'none'))
}
