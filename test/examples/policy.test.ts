import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { issuing } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { program } from '#kit/program.js'

const example = join(import.meta.dirname, '../../examples/policy')

/** The example's folder with an issuer of the test, and a function that creates tokens. */
async function copied(t: TestContext) {
  const issuer = await issuing(t)
  const token = await issuer.jwt({ aud: 'mcp', groups: ['writers'] })
  const text = readFileSync(join(example, 'proxy.yaml'), 'utf8').replace(
    'https://idp.example.com/',
    issuer.url,
  )
  return { home: folder(t, { token, 'proxy.yaml': `${text}oidcAllowPrivateIp: true\n` }), token }
}

const call = (name: string) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } })

test('callers can use the tools that the example allows, and no others', async (t) => {
  const { home, token } = await copied(t)
  const reached: string[] = []
  const target = await listening(t, (request, response) => {
    request.setEncoding('utf8').on('data', (body) => reached.push(String(body)))
    request.on('end', () => response.setHeader('content-type', 'application/json').end('{}'))
  })
  const flags = ['--config', 'proxy.yaml', '--target-uri', `${target}/mcp`, '--port', '0']
  const url = await program(t, ['proxy', 'notes', ...flags], { cwd: home }).ready()
  const ask = (name: string) =>
    fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body: call(name),
    })

  for (const name of ['search_pages', 'write_page']) assert.equal((await ask(name)).status, 200, name)
  for (const name of ['publish_page', 'write_debug', 'read_secrets']) {
    const response = await ask(name)
    assert.equal(response.status, 403, name)
    assert.doesNotMatch(response.headers.get('www-authenticate') ?? '', /scope=/)
  }
  const lacking = await ask('delete_page')
  assert.equal(lacking.status, 403)
  assert.match(
    lacking.headers.get('www-authenticate') ?? '',
    /error="insufficient_scope".*scope="tools:delete"/,
  )
  assert.deepEqual(reached, ['search_pages', 'write_page'].map(call))

  const searches = await Promise.all(Array.from({ length: 20 }, () => ask('search_notes')))
  const over = searches.filter(({ status }) => status === 429)
  assert.equal(over.length, 10)
  assert.match(over[0]?.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assert.equal((await ask('read_page')).status, 200)
})

test('`check` reports no warning for the example', async (t) => {
  const checking = program(t, ['check', '--config', join(example, 'proxy.yaml')])
  assert.equal(await checking.ended(), 0, checking.output.stderr)
  assert.equal(checking.output.stderr, '')
})

test('`explain` shows for each call of the example whether it is allowed, and what it needs', async (t) => {
  const { home } = await copied(t)
  const explain = async (...asked: string[]) => {
    const argv = ['explain', '--config', 'proxy.yaml', '--token-file', 'token', ...asked]
    const explaining = program(t, argv, { cwd: home })
    return { code: await explaining.ended(), ...explaining.output }
  }
  const denied = await explain('--tool', 'delete_page')
  assert.equal(denied.code, 1, denied.stderr)
  assert.match(denied.stdout, /rules\[2\]\.allow\[0\] "delete_\*"/)
  assert.match(denied.stdout, /^with a token that has these scopes it is allowed: tools:delete$/m)
  const allowed = await explain('--resource', 'docs://handbook/start')
  assert.equal(allowed.code, 0, allowed.stdout + allowed.stderr)
})
