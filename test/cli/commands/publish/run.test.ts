import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { serving } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { issuing } from '#kit/issuer.js'
import { closedPort, listening } from '#kit/listening.js'
import { Person } from '#kit/person.js'
import { program } from '#kit/program.js'
import { authority, tlsListening } from '#kit/tls.js'
import { PLATFORM, publishable, publishingProgram } from '../../../plugins/registry/publishing-program.js'

const NAME = 'com.example/weather'
const version = (text: string, more: object = {}): string => JSON.stringify(publishable(NAME, text, more))

/** Runs `sallyport publish`, and signs in where it asks for it. */
function publishing(t: TestContext, registry: string, home = folder(t)) {
  return async (...argv: readonly string[]) => {
    const child = program(t, ['publish', ...argv, '--registry', registry], {
      environment: { XDG_STATE_HOME: home },
      patience: 30,
    })
    const page = /^Open this URL to sign in: (\S+)$/m
    let asked = 0
    const signIn = child.until(page).then(
      async (line) => {
        asked++
        const end = await new Person().follow(page.exec(line)?.[1] ?? '')
        assert.equal(end.status, 200, end.body)
      },
      () => {},
    )
    const code = await child.ended()
    await signIn
    return { code, asked, ...child.output }
  }
}

test('a publisher signs in once, publishes again without signing in, and withdraws a version', async (t) => {
  const address = new URL(await closedPort()).host
  await serving(t, [{ use: 'dev/issuer', with: { address, clientId: 'a', clientSecret: 'b' } }])
  const main = await closedPort()
  const provider = { name: 'corp', issuerUrl: `http://${address}`, audience: main, allowPrivateIP: true }
  const { origin } = await publishingProgram(t, await issuing(t), {
    settings: {
      address: new URL(main).host,
      auth: { oauth: { resourceUrl: main, providers: [provider] } },
      publishers: [{ when: { sub: 'alice' }, names: ['com.example/*'], may: ['publish', 'edit'] }],
    },
  })
  const files = folder(t, {
    '1.json': version('1.0.0'),
    '2.json': version('2.0.0'),
    'old.json': version('0.9.0'),
  })
  const run = publishing(t, `${origin}/registry/default/v0`)
  const flags = ['--remote-auth-skip-browser', '--remote-auth-callback-port=0']

  const first = await run(join(files, '1.json'), ...flags)
  assert.equal(first.code, 0, first.stderr)
  assert.equal(first.asked, 1)
  const url = `${origin}/registry/default/v0.1/servers/com.example%2Fweather/versions/1.0.0`
  assert.equal(
    first.stdout,
    `published ${NAME} 1.0.0\n  status  active\n  latest  none -> 1.0.0\n  url     ${url}\n`,
  )

  const second = await run(join(files, '2.json'))
  assert.deepEqual([second.code, second.asked], [0, 0], second.stderr)
  assert.match(second.stdout, /^ {2}latest {2}1\.0\.0 -> 2\.0\.0$/m)
  const older = await run(join(files, 'old.json'))
  assert.match(older.stdout, /^ {2}latest {2}2\.0\.0, as before$/m)

  const again = await run(join(files, '2.json'))
  assert.equal(again.code, 1)
  assert.match(again.stderr, /409 version_exists[\s\S]*raise `version`/)

  const gone = await run(`${NAME}@2.0.0`, '--status', 'deleted', '--message', 'it leaks')
  assert.deepEqual([gone.code, gone.asked], [0, 0], gone.stderr)
  assert.equal(gone.stdout, `${NAME} 2.0.0  active -> deleted\n`)
  const all = await run(NAME, '--status', 'deprecated')
  assert.equal(all.code, 0, all.stderr)
  assert.deepEqual(all.stdout.split('\n').toSorted(), [
    '',
    `${NAME} 0.9.0  active -> deprecated`,
    `${NAME} 1.0.0  active -> deprecated`,
    `${NAME} 2.0.0  deleted -> deprecated`,
  ])
})

test('a pipeline publishes with the token of a file, and a dry run changes nothing', async (t) => {
  const issuer = await issuing(t)
  const { origin } = await publishingProgram(t, issuer)
  const token = await issuer.jwt(PLATFORM)
  const files = folder(t, { token: `${token}\n`, '1.json': version('1.0.0'), '2.json': version('2.0.0') })
  const run = publishing(t, `${origin}/registry/default/`)
  const flags = ['--token-file', join(files, 'token')]

  const planned = await run(join(files, '1.json'), ...flags, '--dry-run', '--json')
  assert.equal(planned.code, 0, planned.stderr)
  const { result, name, latest } = JSON.parse(planned.stdout)
  assert.deepEqual([result, name, latest], ['would publish', NAME, { before: null }])

  const published = await run(join(files, '1.json'), ...flags, '--json')
  assert.equal(published.code, 0, published.stderr)
  assert.equal(published.asked, 0)
  assert.deepEqual(JSON.parse(published.stdout), {
    result: 'published',
    name: NAME,
    version: '1.0.0',
    status: 'active',
    latest: { before: null, now: '1.0.0' },
    url: `${origin}/registry/default/v0.1/servers/com.example%2Fweather/versions/1.0.0`,
    issues: [],
  })

  const inVain = await run(join(files, '1.json'), ...flags, '--dry-run')
  assert.equal(inVain.code, 1)
  assert.match(inVain.stderr, /409/)
  const next = await run(join(files, '2.json'), ...flags, '--dry-run')
  assert.equal(next.code, 0)
  assert.match(next.stdout, /^would publish com\.example\/weather 2\.0\.0$/m)
})

test('a status of more versions than a registry shows is printed for each version', async (t) => {
  const issuer = await issuing(t)
  const { origin } = await publishingProgram(t, issuer)
  const token = await issuer.jwt(PLATFORM)
  const [registry, COUNT] = [`${origin}/registry/default`, 102]
  for (let patch = 0; patch < COUNT; patch++) {
    const { status } = await fetch(`${registry}/v0.1/publish`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: version(`1.0.${patch}`),
    })
    assert.equal(status, 200)
  }

  const flags = ['--token-file', join(folder(t, { token }), 'token')]
  const { code, stdout, stderr } = await publishing(t, registry)(NAME, '--status', 'deprecated', ...flags)
  assert.equal(code, 0, stderr)
  assert.equal(stdout.split('active -> deprecated\n').length - 1, COUNT, stdout)
})

test('a refusal prints its reason and advice, and ends with 1', async (t) => {
  const issuer = await issuing(t)
  const { origin } = await publishingProgram(t, issuer)
  const files = folder(t, {
    token: await issuer.jwt(PLATFORM),
    nobody: await issuer.jwt(),
    wrong: 'canary-token',
    '1.json': version('1.0.0'),
    'invalid.json': version('^1.0.0', { unknown: true }),
  })
  const flags = (name: string) => ['--token-file', join(files, name)]
  const run = publishing(t, `${origin}/registry/default`)

  const invalid = await run(join(files, 'invalid.json'), ...flags('token'))
  assert.equal(invalid.code, 1)
  assert.match(invalid.stdout, /invalid\.json:1:\d+: error: .*\(version\)$/m)
  assert.match(invalid.stdout, /\(unknown\)$/m)

  const forbidden = await run(join(files, '1.json'), ...flags('nobody'))
  assert.equal(forbidden.code, 1)
  assert.match(forbidden.stderr, /\(403 .*[\s\S]*`publishers`/)

  const unknown = await run(join(files, '1.json'), ...flags('wrong'))
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /\(401 /)
  assert.doesNotMatch(unknown.stderr + unknown.stdout, /canary/)

  const missing = await run('com.example/none@1.0.0', '--status', 'deleted', ...flags('token'))
  assert.equal(missing.code, 1)
  assert.match(missing.stderr, /\(404 version_unknown\): .* com\.example\/none@1\.0\.0\n.*the version/)

  const away = publishing(t, `${await closedPort()}/registry/default`)
  const unreached = await away(join(files, '1.json'), ...flags('token'))
  assert.equal(unreached.code, 1)
  assert.match(unreached.stderr, /cannot be reached/)

  const port = await tlsListening(t, authority(t).issue(['127.0.0.1']), (_request, response) =>
    response.end(),
  )
  const untrusted = publishing(t, `https://127.0.0.1:${port}/registry/default`)
  const distrusted = await untrusted(join(files, '1.json'), ...flags('token'))
  assert.equal(distrusted.code, 1)
  assert.match(distrusted.stderr, /\(502 target_tls\)[\s\S]*--target-ca-cert/)

  const other = publishing(
    t,
    await listening(t, (_request, response) => response.writeHead(404).end('\u001b[2J')),
  )
  const elsewhere = await other(join(files, '1.json'), ...flags('token'))
  assert.equal(elsewhere.code, 1)
  assert.match(elsewhere.stderr, /\(404 registry_unknown\)[\s\S]*--registry/)
})

test('a wrong command line is reported before any request, and ends with 2', async (t) => {
  const files = folder(t, { '1.json': version('1.0.0'), token: 'x' })
  let asked = 0
  const origin = await listening(t, (_request, response) => {
    asked++
    response.end()
  })
  const wrong: readonly (readonly [registry: string, place: string, argv: readonly string[]])[] = [
    [origin, 'none.json', ['none.json']],
    [origin, '--message', [join(files, '1.json'), '--message', 'x']],
    [origin, 'FILE', [join(files, '1.json'), '--status', 'deleted']],
    [origin, '--dry-run', ['a.example/b', '--status', 'deleted', '--dry-run']],
    [
      origin,
      '--remote-auth-device',
      [join(files, '1.json'), '--token-file', join(files, 'token'), '--remote-auth-device'],
    ],
    [
      origin,
      '--remote-auth-client-secret-file',
      [join(files, '1.json'), '--remote-auth-client-secret-file', 'x'],
    ],
    [`${origin}/?a=b`, '--registry', [join(files, '1.json')]],
    [origin.replace('//', '//user:canary@'), '--registry', [join(files, '1.json')]],
  ]
  for (const [registry, place, argv] of wrong) {
    const { code, stderr } = await publishing(t, registry)(...argv)
    assert.equal(code, 2, stderr)
    assert.ok(stderr.startsWith(place), stderr)
    assert.doesNotMatch(stderr, /canary/)
  }
  assert.equal(asked, 0)
})
