import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { startedProgram } from '#kit/started-program.js'
import { browse, realLogin } from '../../plugins/credential/oauth/real-provider.js'
import { anew, once } from './several.js'

const SIGN_IN = /^Open this URL to sign in: (\S+)$/gm

test('workers sign in once, on the callback port of one process, and all have the login (CL-22)', async (t) => {
  const { target, counts } = await realLogin(t, { life: 3600 })
  const { port } = new URL(await closedPort())
  // A client of the operator's own has one redirect URL, so it must be this port.
  const [issuer] = await issuersOf(target)
  const clientId = await registered(`${issuer}/reg`, `http://127.0.0.1:${port}/callback`)
  const login = ['--remote-auth', '--remote-auth-skip-browser', `--remote-auth-client-id=${clientId}`]
  const argv = [...login, '--remote-auth-callback-port', port, '--remote-auth-allow-private-ip']
  const gateway = startedProgram(t, ['proxy', 'name', '--target-uri', target, ...argv, '--workers', '2'], {
    environment: { XDG_STATE_HOME: folder(t) },
    patience: 60,
  })
  const url = await gateway.ready()
  const urls = () => [...gateway.output.stderr.matchAll(SIGN_IN)].map(([, each = '']) => each)
  await browse(await eventually(() => urls()[0]))

  const answers = await Promise.all(Array.from({ length: 20 }, (_, id) => once(url, `${id}`)))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  const signed = gateway.output.stderr.matchAll(/\{.*"msg":"signed in to the target"\}/g)
  assert.equal([...signed].length, 1)
  assert.deepEqual([urls().length, counts.logins, counts.refused], [1, 1, 0])
})

test('an unreachable target is logged once, and not by every worker', async (t) => {
  const argv = ['--remote-auth', '--remote-auth-skip-browser', '--remote-auth-allow-private-ip']
  const target = `${await closedPort()}/mcp`
  const gateway = startedProgram(t, ['proxy', 'name', '--target-uri', target, ...argv, '--workers', '3'], {
    environment: { XDG_STATE_HOME: folder(t) },
    patience: 60,
  })
  const url = await gateway.ready()
  const lines = (text: string): readonly { time: string; worker: number }[] =>
    gateway.output.stderr
      .split('\n')
      .filter((line) => line.includes(text))
      .map((line) => JSON.parse(line))
  await gateway.until(/signing in to the target failed/)
  // A worker that answers has waited for its own turn to sign in.
  const workers = new Set<unknown>()
  await eventually(async () => {
    const { status, body = '' } = await anew(url, 'asked')
    assert.deepEqual([status, JSON.parse(body).error], [503, 'login_unavailable'])
    for (const { worker } of lines('"a request failed"')) workers.add(worker)
    return workers.size === 3 || undefined
  }, 60)
  for (const text of ['"signing in to the target"', 'signing in to the target failed']) {
    const [first = 0, ...others] = lines(text).map(({ time }) => Date.parse(time))
    // After a rest of three seconds it may be tried again, for a request.
    assert.deepEqual(
      others.filter((time) => time < first + 2_900),
      [],
      gateway.output.stderr,
    )
  }
})

interface Ready {
  readonly status?: string
  readonly checks?: Readonly<Record<string, { readonly status: string }>>
}

async function issuersOf(target: string): Promise<readonly string[]> {
  const { origin, pathname } = new URL(target)
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`)
  const document = (await response.json()) as { authorization_servers: string[] }
  return document.authorization_servers
}

async function registered(endpoint: string, redirectUri: string): Promise<string> {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    }),
  })
  const client = (await response.json()) as { client_id: string }
  return client.client_id
}

test('each worker of a registry reads the source, and the registry is ready when the last worker is', async (t) => {
  const servers = (version: string): string =>
    JSON.stringify([{ name: 'a.example/one', version, description: 'one of the test' }])
  const home = folder(t, {
    'servers.json': servers('1.0.0'),
    'registry.yaml': `
address: 127.0.0.1:0
internalAddress: 127.0.0.1:0
auth: { mode: anonymous }
sources: [{ name: own, file: { path: ./servers.json, watch: false } }]
stateDirectory: ./state
`,
  })
  const gateway = startedProgram(t, ['registry', '--config', 'registry.yaml', '--workers', '2'], {
    cwd: home,
    patience: 60,
  })
  const main = await gateway.ready()
  const internal = /metrics on (\S+)\)/.exec(gateway.output.stdout)?.[1] ?? ''
  const versions = async (): Promise<Set<string>> => {
    const list = Array.from({ length: 12 }, (_, id) => once(`${main}/registry/default/v0.1/servers`, `${id}`))
    return new Set(
      (await Promise.all(list)).map(({ body = '' }) => /"version":"([^"]+)"/.exec(body)?.[1] ?? body),
    )
  }
  const readiness = async () => {
    const response = await fetch(`${internal}/readiness`)
    return { status: response.status, body: (await response.json()) as Ready }
  }
  assert.deepEqual(await versions(), new Set(['1.0.0']))
  assert.deepEqual(await readiness(), { status: 200, body: { status: 'ready' } })

  writeFileSync(join(home, 'servers.json'), servers('2.0.0'))
  const synced = await fetch(`${internal}/sync/own`, { method: 'POST' })
  assert.deepEqual(await synced.json(), { source: 'own', outcome: 'changed', versions: 1, refused: 0 })
  assert.deepEqual(await versions(), new Set(['2.0.0']))
  assert.ok(readdirSync(join(home, 'state')).includes('catalogue.sqlite'))
  const metrics = await (await fetch(`${internal}/metrics`)).text()
  // One that starts later may find what the other has kept already, and so no change.
  const syncs = [...metrics.matchAll(/^sallyport_registry_syncs_total{.*} (\d+)$/gm)]
  assert.equal(
    syncs.reduce((sum, [, count]) => sum + Number(count), 0),
    4,
  )
  for (const worker of [1, 2]) {
    assert.match(
      metrics,
      new RegExp(`^sallyport_registry_versions{registry="default",worker="${worker}"} 1$`, 'm'),
    )
  }

  writeFileSync(join(home, 'servers.json'), 'none')
  const failed = await fetch(`${internal}/sync/own`, { method: 'POST' })
  assert.equal(failed.status, 502)
  const { status, body } = await readiness()
  assert.deepEqual([status, body.status, body.checks?.['source own']?.status], [200, 'ready', 'degraded'])
  assert.equal(
    (await fetch(`${internal}/sync/own`, { method: 'POST', headers: { origin: 'http://a' } })).status,
    403,
  )
  assert.equal((await fetch(`${internal}/sync/none`, { method: 'POST' })).status, 404)
})
