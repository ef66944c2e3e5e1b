import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'
import { startAuthorizationServer } from '../../../plugins/credential/oauth/authorization-server.js'

const SERVICE = { SERVICE_REMOTE_OAUTH_CLIENT_SECRET: 'of-the-service' }
const PRODUCT = { ...SERVICE, SALLYPORT_REMOTE_OAUTH_CLIENT_SECRET: 'of-the-product' }
const FLAG = { ...PRODUCT, SALLYPORT_REMOTE_AUTH_CLIENT_SECRET: 'of-the-flag-name' }

test('the client secret comes from the flag, else the file, else the environment', async (t) => {
  const home = folder(t, { secret: 'of-the-file\n' })
  const file = `--remote-auth-client-secret-file=${join(home, 'secret')}`
  const cases = [
    ['of-the-flag', FLAG, [file, '--remote-auth-client-secret=of-the-flag']],
    ['of-the-file', FLAG, [file]],
    ['of-the-flag-name', FLAG, []],
    ['of-the-product', PRODUCT, []],
    ['of-the-service', SERVICE, []],
  ] as const
  const proven = await Promise.all(
    cases.map(async ([, environment, secret]) => {
      const server = await startAuthorizationServer(t)
      const client = [
        '--remote-auth',
        '--remote-auth-client-id=mine',
        '--remote-auth-grant=client_credentials',
      ]
      const proxy = program(t, ['proxy', 'mine', `--target-uri=${server.target}`, ...client, ...secret], {
        environment: { XDG_STATE_HOME: folder(t), ...environment },
        patience: 30,
      })
      const { status } = await fetch(await proxy.ready(), { method: 'POST', body: '{}' })
      assert.equal(status, 200, proxy.output.stderr)
      assert.doesNotMatch(proxy.output.stderr, /of-the-/)
      const basic = server.at('/token')[0]?.headers.authorization?.replace('Basic ', '') ?? ''
      return Buffer.from(basic, 'base64').toString()
    }),
  )
  assert.deepEqual(
    proven,
    cases.map(([expected]) => `mine:${expected}`),
  )
})
