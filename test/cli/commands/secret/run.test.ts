import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { serving } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { cli } from '#kit/program.js'
import { variables } from '#kit/variables.js'
import { send } from '../../../plugins/forward/proxied.js'

/** Runs `sallyport secret` on an encrypted file of its own, as a person without a keyring would. */
function keeper(t: TestContext) {
  const environment = { XDG_DATA_HOME: folder(t), SALLYPORT_SECRETS_PASSPHRASE: 'correct horse' }
  const run = (argv: readonly string[], input = '') => cli(t, ['secret', ...argv], { environment, input })
  return { run, environment }
}

test('a secret is set from standard input, listed by name, printed and removed', async (t) => {
  const { run } = keeper(t)

  assert.equal((await run(['set', 'my-key', '--store', 'file'], 'hunter2\n')).code, 0)
  assert.deepEqual((await run(['list', '--store', 'file'])).stdout, 'my-key\n')
  assert.equal((await run(['get', 'my-key', '--store', 'file'])).stdout, 'hunter2\n')
  assert.equal((await run(['rm', 'my-key', '--store', 'file'])).code, 0)
  assert.equal((await run(['get', 'my-key', '--store', 'file'])).code, 1)
  assert.equal((await run(['rm', 'my-key', '--store', 'file'])).code, 1)
})

test('without a keyring a line says so, and --store keyring never falls back to the file', async (t) => {
  const { run } = keeper(t)
  const asked = await run(['list', '--store', 'keyring'])
  // A machine with a keyring answers; any other says so and keeps nothing anywhere else.
  assert.ok(asked.code === 0 || (asked.code === 2 && /keyring/.test(asked.stderr)))
})

/** A store in one file, of a third party, with its secrets in JSON. */
const OWN_STORE = `
  import { readFileSync, writeFileSync } from 'node:fs'
  import { SecretStore } from 'sallyport'
  const options = { '~standard': { version: 1, vendor: 'mine', validate: (value) => ({ value }) } }
  export default { name: 'own-secrets', api: 1, provides: [SecretStore], options,
    setup(gateway, { file }) {
      const path = gateway.path(file)
      const all = () => { try { return JSON.parse(readFileSync(path, 'utf8')) } catch { return {} } }
      const save = (values) => writeFileSync(path, JSON.stringify(values))
      gateway.provide(SecretStore, {
        name: 'own store',
        get: async (name) => all()[name],
        keeping: {
          set: async (name, value) => save({ ...all(), [name]: value }),
          delete: async (name) => { const { [name]: old, ...rest } = all(); save(rest); return old !== undefined },
          names: async () => Object.keys(all()),
        },
      })
    } }`

test("with a file the secrets are those of its list's stores, also of a third party", async (t) => {
  const { run } = keeper(t)
  const home = folder(t, {
    'own.mjs': OWN_STORE,
    'read/given': 'of the directory',
    'gateway.yaml': `
- { use: secrets/directory, with: { path: ./read } }
- { use: ./own.mjs, with: { file: ./kept.json } }
`,
    'proxy.yaml': `targetUri: https://mcp.example.com/mcp
remoteForwardHeadersSecret: { X-Key: my-key }
plugins:
  - { use: ./own.mjs, with: { file: ./kept.json }, replaces: secrets/keyring }
`,
    'none.yaml': '- use: secrets/environment\n',
    'bare.yaml': '- use: auth/anonymous\n',
  })
  const withFile = (file: string, ...argv: string[]) => [...argv, '--config', join(home, file)]

  assert.equal((await run(withFile('gateway.yaml', 'set', 'my-key'), 'hunter2\n')).code, 0)
  assert.deepEqual(JSON.parse(readFileSync(join(home, 'kept.json'), 'utf8')), { 'my-key': 'hunter2' })
  for (const file of ['gateway.yaml', 'proxy.yaml']) {
    assert.equal((await run(withFile(file, 'get', 'my-key'))).stdout, 'hunter2\n', file)
    assert.equal((await run(withFile(file, 'list'))).stdout, 'my-key\n', file)
  }
  assert.equal((await run(withFile('gateway.yaml', 'get', 'given'))).stdout, 'of the directory\n')
  assert.equal((await run(withFile('gateway.yaml', 'rm', 'my-key'))).code, 0)
  assert.equal((await run(withFile('gateway.yaml', 'rm', 'my-key'))).code, 1)
  // Nothing of it went to where secrets are kept without a file.
  assert.equal((await run(['list', '--store', 'file'])).stdout, '')

  const unwritable = await run(withFile('none.yaml', 'set', 'my-key'), 'hunter2')
  assert.equal(unwritable.code, 2)
  assert.match(unwritable.stderr, /^secret set: no secret store of the list can be written/)
  const bare = await run(withFile('bare.yaml', 'list'))
  assert.equal(bare.code, 2)
  assert.match(bare.stderr, /^secret list: no plugin of the list provides a secret store$/m)
  const both = await run(withFile('gateway.yaml', 'list', '--store', 'file'))
  assert.equal(both.code, 2)
  assert.match(both.stderr, /^--store: cannot be combined with --config/)
})

test('a wrong command line is an exit code of 2, and no value is repeated', async (t) => {
  const { run } = keeper(t)
  for (const argv of [['set'], ['set', '../x'], ['list', 'x'], ['burn', 'x'], ['set', 'x', 'value']]) {
    assert.equal((await run([...argv, '--store', 'file'], 'hunter2')).code, 2, argv.join(' '))
  }
  assert.equal((await run(['set', 'x', '--store', 'file'], '')).code, 2)
})

test('a proxy takes a header from a stored secret', async (t) => {
  const { run, environment } = keeper(t)
  assert.equal((await run(['set', 'my-key', '--store', 'file'], 'hunter2')).code, 0)
  variables(t, environment)
  const targetUri = await listening(t, (request, response) =>
    response.end(String(request.headers['x-api-key'])),
  )
  const settings = ProxySettings.parse({ targetUri, remoteForwardHeadersSecret: [['X-Api-Key', 'my-key']] })
  const { addresses } = await serving(t, proxy(settings))

  assert.equal((await send(addresses.main ?? '', { headers: { 'x-api-key': 'mine' } })).body, 'hunter2')
})
