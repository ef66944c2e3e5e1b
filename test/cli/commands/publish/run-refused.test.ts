import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { issuing } from '#kit/issuer.js'
import { cli } from '#kit/program.js'
import { PLATFORM, publishable, publishingProgram } from '../../../plugins/registry/publishing-program.js'

const NAME = 'com.example/weather'
const document = JSON.stringify(publishable(NAME, '1.0.0'))

test('a missing registry is distinguished from one that accepts no publications, also in a dry run', async (t) => {
  const issuer = await issuing(t)
  const files = folder(t, {
    token: await issuer.jwt(PLATFORM),
    '1.json': document,
    'none.json': JSON.stringify({ servers: [] }),
  })
  const { origin } = await publishingProgram(t, issuer, {
    settings: {
      sources: [
        { name: 'published', managed: {} },
        { name: 'file', file: { path: join(files, 'none.json') } },
      ],
      registries: [
        { name: 'default', sources: ['published'] },
        { name: 'fixed', sources: ['file'] },
      ],
    },
  })
  const codeOf = async (registry: string, ...argv: readonly string[]) => {
    const flags = ['--token-file', join(files, 'token'), '--registry', `${origin}/registry/${registry}`]
    const { code, stderr } = await cli(t, ['publish', ...argv, ...flags])
    return [code, /\((404 \w+)\)/.exec(stderr)?.[1]]
  }

  const file = join(files, '1.json')
  const status = ['--status', 'deleted']
  assert.deepEqual(await codeOf('absent', file), [1, '404 registry_unknown'])
  assert.deepEqual(await codeOf('absent', file, '--dry-run'), [1, '404 registry_unknown'])
  assert.deepEqual(await codeOf('absent', NAME, ...status), [1, '404 registry_unknown'])
  assert.deepEqual(await codeOf('fixed', file), [1, '404 publications_not_taken'])
  assert.deepEqual(await codeOf('default', NAME, ...status), [1, '404 version_unknown'])
})

test('when the identity provider registers no clients, the advice names the flag for a client ID', async (t) => {
  const issuer = await issuing(t)
  const { origin } = await publishingProgram(t, issuer)
  const files = folder(t, { '1.json': document })
  const methods = { code_challenge_methods_supported: ['S256'] }
  issuer.faults.set('/register', (_request, response) =>
    response
      .writeHead(403, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: 'access_denied' })),
  )

  for (const [metadata, code] of [
    [methods, '503 client_missing'],
    [{ ...methods, registration_endpoint: `${issuer.origin}/register` }, '502 registration_refused'],
  ] as const) {
    issuer.metadata = metadata
    const argv = ['publish', join(files, '1.json'), '--registry', `${origin}/registry/default`]
    const { code: end, stderr } = await cli(t, argv, { environment: { XDG_STATE_HOME: folder(t) } })
    assert.equal(end, 1)
    assert.ok(stderr.startsWith(`sallyport: sign-in is not possible (${code})`), stderr)
    assert.match(stderr, /--remote-auth-client-id/)
  }
})
