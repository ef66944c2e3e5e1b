import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { program } from '#kit/program.js'
import { publishable } from '../../../plugins/registry/publishing-program.js'

const NAME = 'com.example/weather'
const TOKEN = 'canary.token-of-a-pipeline'

const json =
  (status: number, body: unknown): RequestListener =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

const served = (name: string, version: string, status: string, isLatest = true) => ({
  server: { name, version },
  _meta: { 'io.modelcontextprotocol.registry/official': { status, isLatest } },
})

/** Runs `sallyport publish` against a registry that answers anything. */
async function publishingTo(t: TestContext, answer: RequestListener) {
  const registry = await listening(t, answer)
  const files = folder(t, { token: TOKEN, 'server.json': JSON.stringify(publishable(NAME, '1.0.0')) })
  return async (...argv: readonly string[]) => {
    const named = argv[0]?.startsWith('--') === false ? [] : [join(files, 'server.json')]
    const flags = ['--registry', `${registry}/r`, '--token-file', join(files, 'token')]
    const child = program(t, ['publish', ...named, ...argv, ...flags], { patience: 30 })
    return { code: await child.ended(), ...child.output }
  }
}

test('a token that a registry or a proxy echoes is not printed', async (t) => {
  const sent = `seen: Bearer ${TOKEN} and ${encodeURIComponent(TOKEN)}`
  const bodies = [
    json(403, { error: TOKEN, error_description: sent, issues: [{ path: TOKEN, message: sent }] }),
    json(200, served(NAME, '1.0.0', `active\n${sent}`)),
  ]
  for (const body of bodies) {
    const run = await publishingTo(t, body)
    for (const argv of [[], ['--json'], ['--debug'], [`${NAME}@1.0.0`, '--status', 'deleted']]) {
      const { stdout, stderr } = await run(...argv)
      assert.ok(stdout.length + stderr.length > 0)
      assert.doesNotMatch(stdout + stderr, /canary/)
    }
  }
})

test('the advice never is to publish again what may be stored', async (t) => {
  const answer = json(503, { error: 'publication_uncertain', error_description: 'it may have been stored' })
  const { code, stderr } = await (
    await publishingTo(t, (request, response) =>
      request.method === 'GET' ? json(404, {})(request, response) : answer(request, response),
    )
  )()
  assert.equal(code, 1)
  assert.match(stderr, /503 publication_uncertain.*\n.*check in the registry/)
  assert.doesNotMatch(stderr, /try again (?:later|in)/)
})

test('a connection that ends before the answer is reported, with the warning that the document may be stored', async (t) => {
  const run = await publishingTo(t, (request, response) => {
    if (request.method === 'GET') json(404, {})(request, response)
    else request.resume().on('end', () => response.destroy())
  })
  const { code, stderr } = await run()
  assert.equal(code, 1)
  assert.match(stderr, /\(502 target_reset\): .*closed the connection.*\n.*check in the registry/)
})

test('an endless answer is cut off', async (t) => {
  const run = await publishingTo(t, (_request, response) => {
    const write = (): void => {
      while (response.write('a'.repeat(65_536)));
    }
    response.writeHead(200).on('drain', write)
    write()
  })
  const { code, stderr } = await run()
  assert.equal(code, 1)
  assert.match(stderr, /\(502\): its answer has more than 4194304 bytes/)
})

test('an answer about another version is an error, and the status comes from the answer', async (t) => {
  for (const other of [served('com.example/other', '1.0.0', 'active'), served(NAME, '9.0.0', 'active')]) {
    const run = await publishingTo(t, json(200, other))
    const published = await run()
    assert.equal(published.code, 1, published.stdout)
    assert.match(published.stderr, /does not answer as a registry does/)
    assert.equal((await run(`${NAME}@1.0.0`, '--status', 'deleted')).code, 1)
  }
  const run = await publishingTo(t, json(200, served(NAME, '1.0.0', 'pending')))
  assert.match((await run()).stdout, /^ {2}status {2}pending$/m)
  const changed = await run(`${NAME}@1.0.0`, '--status', 'deleted')
  assert.equal(changed.stdout, `${NAME} 1.0.0  pending, as before\n`)
})

test('a document that is too large is refused here, as validate does', async (t) => {
  const run = await publishingTo(t, (_request, response) => response.writeHead(500).end())
  const large = folder(t, {
    'large.json': JSON.stringify({ ...publishable(NAME, '1.0.0'), x: 'x'.repeat(300_000) }),
  })
  const file = join(large, 'large.json')
  const { code, stderr } = await run(file)
  assert.equal(code, 2)
  const judged = program(t, ['validate', file])
  await judged.ended()
  assert.match(stderr, /at most 262144 bytes are expected, it has \d+/)
  assert.ok(judged.output.stderr.includes(stderr.trim()), judged.output.stderr)
})

test('versions on several pages are all changed, and endless pages are an error', async (t) => {
  const pages = (next: (cursor: string) => string | undefined): RequestListener => {
    return (request, response) => {
      const cursor = new URL(request.url ?? '', 'http://r').searchParams.get('cursor') ?? ''
      const version = cursor === '' ? '1.0.0' : '2.0.0'
      const nextCursor = next(cursor)
      const servers = [served(NAME, version, 'active', version === '2.0.0')]
      if (request.method === 'GET') return json(200, { servers, metadata: { nextCursor } })(request, response)
      const all = ['1.0.0', '2.0.0'].map((each) => served(NAME, each, 'deleted', false))
      return json(200, { updatedCount: 2, servers: all })(request, response)
    }
  }
  const deleting = [NAME, '--status', 'deleted']
  const two = await (
    await publishingTo(
      t,
      pages((cursor) => (cursor === '' ? 'two' : undefined)),
    )
  )(...deleting)
  assert.equal(two.code, 0, two.stderr)
  assert.match(two.stdout, /1\.0\.0[\s\S]*2\.0\.0|2\.0\.0[\s\S]*1\.0\.0/)

  const endless = await (
    await publishingTo(
      t,
      pages(() => 'again'),
    )
  )(...deleting)
  assert.equal(endless.code, 1)
  assert.match(endless.stderr, /does not end/)
})
