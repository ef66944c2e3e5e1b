import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'
import { startAuthorizationServer } from '../../../plugins/credential/oauth/authorization-server.js'
import { valuesIn } from '../../../plugins/state/stored.js'

test('a login of a proxy survives it, is listed without its tokens, and is deleted', async (t) => {
  const server = await startAuthorizationServer(t)
  const state = folder(t)
  const environment = { XDG_STATE_HOME: state, SERVICE_REMOTE_OAUTH_CLIENT_SECRET: 'canary-secret' }
  const flags = [
    'proxy',
    'mine',
    `--target-uri=${server.target}`,
    '--remote-auth',
    '--remote-auth-skip-browser',
  ]
  const client = ['--remote-auth-client-id=my-client', '--remote-auth-callback-port=0']
  const ask = (url: string) => fetch(url, { method: 'POST', body: '{}' })

  const first = program(t, [...flags, ...client], { environment })
  const url = await first.ready()
  const page = await first.until(/(?<=^Open this URL to sign in: )\S+$/m)
  await fetch(page)
  assert.equal((await ask(url)).status, 200)
  first.stop()
  assert.equal(await first.ended(), 0)
  assert.doesNotMatch(first.output.stderr, /canary/)
  assert.equal(server.at('/token')[0]?.headers.authorization?.startsWith('Basic '), true)

  const second = program(t, [...flags, ...client], { environment })
  assert.equal((await ask(await second.ready())).status, 200)
  assert.equal(server.times('/authorize'), 1)

  const run = async (...argv: string[]) => {
    const { output, ended } = program(t, ['auth', ...argv], { environment })
    return { code: await ended(), ...output }
  }
  const { code, stdout } = await run('list')
  assert.equal(code, 0)
  assert.equal(stdout, `${server.target}: client my-client at ${server.origin}, renewed by itself\n`)

  assert.equal((await run('logout', 'https://other.example/mcp')).code, 1)
  assert.equal((await run('logout')).code, 2)
  assert.equal((await run('logout', server.target)).code, 0)
  assert.equal((await run('list')).stdout, '')
  assert.deepEqual(valuesIn(join(state, 'sallyport')), [])
  assert.equal(statSync(join(state, 'sallyport')).mode & 0o777, 0o700)
})

test('a login that must not be stored leaves nothing behind', async (t) => {
  const server = await startAuthorizationServer(t)
  const state = folder(t)
  const flags = ['--remote-auth-skip-browser', '--remote-auth-no-store', '--remote-auth-callback-port=0']
  const proxy = program(t, ['proxy', 'mine', `--target-uri=${server.target}`, '--remote-auth', ...flags], {
    environment: { XDG_STATE_HOME: state },
  })
  const url = await proxy.ready()
  await fetch(await proxy.until(/(?<=^Open this URL to sign in: )\S+$/m))
  const status = await eventually(async () => (await fetch(url, { method: 'POST', body: '{}' })).status)
  assert.equal(status, 200)
  assert.deepEqual(readdirSync(state), [])
})
