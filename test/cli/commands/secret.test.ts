import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { serving } from '../../kit/booted.js'
import { listening } from '../../kit/listening.js'
import { bin } from '../../kit/program.js'
import { temporaryFolder } from '../../kit/tls.js'
import { asking } from '../../plugins/forward/proxied.js'

/** Runs `sallyport secret` on an encrypted file of its own, as a person without a keyring would. */
function keeper(t: TestContext) {
  const environment = { XDG_DATA_HOME: temporaryFolder(t), SALLYPORT_SECRETS_PASSPHRASE: 'correct horse' }
  const run = (argv: readonly string[], input = '') => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [bin, 'secret', ...argv], {
      env: { PATH: process.env['PATH'], ...environment },
      input,
      encoding: 'utf8',
    })
    return { status, stdout, stderr }
  }
  return { run, environment }
}

test('a secret is set from standard input, listed by name, told and removed', (t) => {
  const { run } = keeper(t)

  assert.equal(run(['set', 'my-key', '--store', 'file'], 'hunter2\n').status, 0)
  assert.deepEqual(run(['list', '--store', 'file']).stdout, 'my-key\n')
  assert.equal(run(['get', 'my-key', '--store', 'file']).stdout, 'hunter2\n')
  assert.equal(run(['rm', 'my-key', '--store', 'file']).status, 0)
  assert.equal(run(['get', 'my-key', '--store', 'file']).status, 1)
  assert.equal(run(['rm', 'my-key', '--store', 'file']).status, 1)
})

test('without a keyring that is said, and a keyring that was asked for is not replaced', (t) => {
  const { run } = keeper(t)
  const asked = run(['list', '--store', 'keyring'])
  // A machine with a keyring answers; any other says so and keeps nothing anywhere else.
  assert.ok(asked.status === 0 || (asked.status === 2 && /keyring/.test(asked.stderr)))
})

test('what cannot be meant is exit 2, and no value is repeated', (t) => {
  const { run } = keeper(t)
  for (const argv of [['set'], ['set', '../x'], ['list', 'x'], ['burn', 'x'], ['set', 'x', 'value']]) {
    assert.equal(run([...argv, '--store', 'file'], 'hunter2').status, 2, argv.join(' '))
  }
  assert.equal(run(['set', 'x', '--store', 'file'], '').status, 2)
})

test('a proxy takes a header from what was kept', async (t) => {
  const { run, environment } = keeper(t)
  assert.equal(run(['set', 'my-key', '--store', 'file'], 'hunter2').status, 0)
  const before = { ...process.env }
  Object.assign(process.env, environment)
  t.after(() => {
    for (const name of Object.keys(environment)) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  })
  const targetUri = await listening(t, (request, response) =>
    response.end(String(request.headers['x-api-key'])),
  )
  const settings = ProxySettings.parse({ targetUri, remoteForwardHeadersSecret: [['X-Api-Key', 'my-key']] })
  const { addresses } = await serving(t, proxy(settings))

  assert.equal((await asking(addresses.main ?? '', { headers: { 'x-api-key': 'mine' } })).body, 'hunter2')
})
