import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { issuing } from '#kit/issuer.js'
import { dial } from '#kit/raw.js'
import { PLATFORM, publishingProgram } from './publishing-program.js'
import { OFFICIAL } from './registry.js'

// What mcp-publisher 1.8.8 sent to a socket, but for the host and the token.
const recordings = join(import.meta.dirname, 'publish-official-command')

interface Answered {
  readonly status: number
  readonly headers: string
  readonly body: unknown
}

const NOTHING: Answered = { status: 0, headers: '', body: undefined }

/** A registry, and a function that says what the official command said, over one connection for each command. */
async function replaying(t: TestContext) {
  const issuer = await issuing(t)
  const { origin } = await publishingProgram(t, issuer)
  const token = await issuer.jwt(PLATFORM)
  const bytesOf = (name: string): Buffer => {
    const text = readFileSync(join(recordings, `${name}.http`), 'utf8')
      .replaceAll('{{host}}', new URL(origin).host)
      .replaceAll('{{token}}', token)
    const [, body = ''] = text.split('\r\n\r\n')
    return Buffer.from(text.replace('{{length}}', String(Buffer.byteLength(body))))
  }
  const replay = async (...names: readonly string[]): Promise<Answered[]> => {
    const socket = dial(origin)
    const answers: Answered[] = []
    for (const name of names) {
      socket.write(bytesOf(name))
      answers.push(await answerOn(socket))
    }
    socket.destroy()
    return answers
  }
  return { replay, token }
}

/** The next answer on a connection, which says its length as every answer to a short request does. */
async function answerOn(socket: ReturnType<typeof dial>): Promise<Answered> {
  let received = Buffer.alloc(0)
  for (;;) {
    const end = received.indexOf('\r\n\r\n')
    const headers = received.subarray(0, Math.max(end, 0)).toString('latin1')
    const length = Number(/^content-length: (\d+)$/im.exec(headers)?.[1] ?? Number.POSITIVE_INFINITY)
    if (end >= 0 && received.length >= end + 4 + length) {
      const sent = received.subarray(end + 4, end + 4 + length)
      const text = /^content-encoding: gzip$/im.test(headers) ? gunzipSync(sent) : sent
      const body: unknown = JSON.parse(text.toString('utf8'))
      return { status: Number(headers.slice(9, 12)), headers, body }
    }
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    received = Buffer.concat([received, chunk])
  }
}

const officialOf = (body: unknown) =>
  (body as { _meta: Record<string, Record<string, unknown>> })._meta[OFFICIAL] ?? {}

test('the official command logs in, publishes, deprecates and withdraws, byte for byte as it was recorded', async (t) => {
  const { replay, token } = await replaying(t)

  const [login = NOTHING] = await replay('login-1')
  assert.equal(login.status, 200, JSON.stringify(login.body))
  const { registry_token, expires_at } = login.body as Record<string, unknown>
  assert.equal(registry_token, token)
  assert.ok(Number.isInteger(expires_at))
  assert.match(login.headers, /^cache-control: no-store$/im)

  const [published = NOTHING] = await replay('publish-1')
  assert.equal(published.status, 200, JSON.stringify(published.body))
  const { server } = published.body as { server: Record<string, unknown> }
  assert.equal(server['name'], 'com.example/weather')
  assert.equal(server['version'], '1.0.0+build.1')
  assert.equal(server['description'], 'Forecasts <hourly> for städte')
  const { status, publishedAt, updatedAt, statusChangedAt, isLatest } = officialOf(published.body)
  assert.deepEqual([status, isLatest], ['active', true])
  // Go reads them as RFC 3339.
  for (const date of [publishedAt, updatedAt, statusChangedAt]) {
    if (date !== undefined)
      assert.match(typeof date === 'string' ? date : '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/)
  }

  const [again = NOTHING] = await replay('publish-1')
  assert.equal(again.status, 409)

  const [before = NOTHING, deprecated = NOTHING] = await replay('status-1', 'status-2')
  assert.equal(before.status, 200)
  assert.equal(officialOf(before.body)['status'], 'active')
  assert.equal(deprecated.status, 200, JSON.stringify(deprecated.body))
  assert.equal(officialOf(deprecated.body)['status'], 'deprecated')
  assert.equal(officialOf(deprecated.body)['statusMessage'], 'use 2.0.0 & <newer>')

  const [all = NOTHING, deleted = NOTHING] = await replay('status-all-1', 'status-all-2')
  const { servers } = all.body as { servers: readonly object[] }
  assert.deepEqual(
    servers.map((each) => officialOf(each)['status']),
    ['deprecated'],
  )
  assert.equal(deleted.status, 200, JSON.stringify(deleted.body))
  assert.equal((deleted.body as { updatedCount: number }).updatedCount, 1)

  // It reads what was deleted, too.
  const [gone = NOTHING] = await replay('status-1')
  assert.equal(gone.status, 200)
  assert.equal(officialOf(gone.body)['status'], 'deleted')
})

test('a refused document is 422, and the official command gets every issue without a token', async (t) => {
  const { replay } = await replaying(t)

  const [refused = NOTHING, validated = NOTHING] = await replay('refused-1', 'refused-2')
  assert.equal(refused.status, 422, JSON.stringify(refused.body))
  assert.match(refused.headers, /^content-type: application\/problem\+json/im)
  assert.equal(validated.status, 200)
  const { valid, issues } = validated.body as { valid: boolean; issues: Record<string, unknown>[] }
  assert.equal(valid, false)
  for (const issue of issues) {
    assert.deepEqual(Object.keys(issue).toSorted(), ['message', 'path', 'reference', 'severity', 'type'])
    for (const text of Object.values(issue)) assert.equal(typeof text, 'string')
  }
  const paths = issues.filter(({ severity }) => severity === 'error').map(({ path }) => path)
  assert.ok(paths.includes('version'), String(paths))
  assert.ok(
    paths.some((path) => String(path).startsWith('remotes')),
    String(paths),
  )
})
