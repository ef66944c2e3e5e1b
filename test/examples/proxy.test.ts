import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { realIssuer } from '#kit/oidc-provider.js'
import { spawned } from '#kit/spawned.js'
import { bin } from '#kit/started-program.js'

const root = join(import.meta.dirname, '../..')

/** Runs an example with `sallyport` in the path. */
async function example(
  t: TestContext,
  name: string,
  environment: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
): Promise<string> {
  const path = folder(t, { sallyport: `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n` })
  chmodSync(join(path, 'sallyport'), 0o755)
  const { PATH = '', HOME = '' } = process.env
  const { process: child, output } = spawned(
    t,
    [join(root, 'examples/proxy', name), ...flags],
    { env: { PATH: `${path}:${PATH}`, HOME, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] },
    (started) => started.kill('SIGTERM'),
  )
  return eventually(() => {
    assert.equal(child.exitCode, null, output.stderr)
    return /(?:listening on|reachable at) (http:\S+)/.exec(output.stdout)?.[1]
  })
}

/** A target that responds with the request that reached it. */
const echo = (t: TestContext): Promise<string> =>
  listening(t, ({ headers }, response) => void response.end(JSON.stringify(headers)))

async function reaching(url: string, authorization?: string): Promise<IncomingHttpHeaders | number> {
  const response = await fetch(url, { headers: authorization === undefined ? {} : { authorization } })
  return response.ok ? ((await response.json()) as IncomingHttpHeaders) : response.status
}

const authorizationIn = (reached: IncomingHttpHeaders | number): string | undefined =>
  typeof reached === 'number' ? assert.fail(`status ${reached}`) : reached.authorization

test('1: the proxy forwards a request unchanged', async (t) => {
  const url = await example(t, '1-open.sh', { TARGET: await echo(t) })

  assert.equal(authorizationIn(await reaching(url)), undefined)
  assert.equal(authorizationIn(await reaching(url, 'Bearer of-the-caller')), 'Bearer of-the-caller')
})

test('2: the target gets the credential of the file for every caller', async (t) => {
  const token = join(folder(t, { token: 'of-the-proxy' }), 'token')
  const url = await example(t, '2-outgoing.sh', { TARGET: await echo(t), TOKEN_FILE: token })

  assert.equal(authorizationIn(await reaching(url)), 'Bearer of-the-proxy')
  assert.equal(authorizationIn(await reaching(url, 'Bearer of-the-caller')), 'Bearer of-the-proxy')
})

for (const [name, expected] of [
  ['3-incoming.sh', undefined],
  ['4-both.sh', 'Bearer of-the-proxy'],
] as const) {
  test(`${name}: a caller needs a token, and the target never sees it`, async (t) => {
    const issuer = await realIssuer(t)
    const environment = {
      TARGET: await echo(t),
      TOKEN_FILE: join(folder(t, { token: 'of-the-proxy' }), 'token'),
      ISSUER: issuer.url,
      AUDIENCE: issuer.audience,
    }
    const url = await example(t, name, environment, ['--oidc-allow-private-ip'])

    assert.equal(await reaching(url), 401)
    assert.equal(await reaching(url, 'Bearer of-the-caller'), 401)
    assert.equal(authorizationIn(await reaching(url, `Bearer ${await issuer.token()}`)), expected)
  })
}

test('5: callers reach the proxy through a tunnel client, with a token', async (t) => {
  const issuer = await realIssuer(t)
  const client = join(root, 'test/plugins/tunnel/client.mjs')
  const environment = {
    TARGET: await echo(t),
    ISSUER: issuer.url,
    AUDIENCE: issuer.audience,
    TUNNEL: `"${process.execPath}" "${client}" {port}`,
  }
  const flags = ['--oidc-allow-private-ip', '--tunnel-command-pattern=url=(\\S+)']
  const url = await example(t, '5-tunnel.sh', environment, flags)

  assert.equal(await reaching(url), 401)
  assert.equal(authorizationIn(await reaching(url, `Bearer ${await issuer.token()}`)), undefined)
})
