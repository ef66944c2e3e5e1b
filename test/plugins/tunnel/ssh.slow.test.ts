import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { eventually } from '#kit/captured-log.js'
import { everything } from '#kit/everything.js'
import { folder } from '#kit/folder.js'
import { freePort } from '#kit/free-port.js'
import { opened } from '#kit/listening.js'
import { realIssuer } from '#kit/oidc-provider.js'
import { oidcSettings } from '#kit/oidc-settings.js'
import { startedProgram } from '#kit/started-program.js'
import { asked } from './asked.js'
import { endAll, gone, running } from './processes.js'
import { flagsFor, noSshd, type Sshd, settingsFor, sshd } from './sshd.js'
import { started, statusOf, tunnelled } from './tunnelled.js'

/** Part of the command line of every ssh to this server. */
const markOf = ({ port }: Sshd): string => `-p ${port} `

const real = { skip: noSshd }

test(
  'the official client with a real token works through the forwarded port, which discovery names',
  real,
  async (t) => {
    const server = await sshd(t)
    const issuer = await realIssuer(t)
    const tunnel = await tunnelled(t, {
      ...settingsFor(server),
      targetUri: await everything(t),
      ...oidcSettings(issuer),
    })
    const url = tunnel.url()
    assert.notEqual(url, tunnel.main)

    const refused = await fetch(`${url}/mcp`)
    assert.equal(refused.status, 401)
    const challenge = refused.headers.get('www-authenticate') ?? ''
    const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? []
    assert.equal(metadata, `${url}/.well-known/oauth-protected-resource/mcp`)
    const document = (await (await fetch(metadata)).json()) as Record<string, unknown>
    assert.equal(document['resource'], `${url}/mcp`)

    const authorization = `Bearer ${await issuer.token()}`
    const client = new Client({ name: 'test', version: '1' })
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit: { headers: { authorization } },
    })
    // The SDK's class does not fit its own interface under exactOptionalPropertyTypes.
    await client.connect(transport as never)
    const { content } = await client.callTool({ name: 'echo', arguments: { message: 'by the tunnel' } })
    assert.deepEqual(content, [{ type: 'text', text: 'Echo: by the tunnel' }])
    await client.close()

    await tunnel.running.stop()
    assert.deepEqual(running(markOf(server)), [])
  },
)

test('RS-32, T7: through the tunnel only the public host and its own origin are allowed', real, async (t) => {
  const tunnel = await tunnelled(t, settingsFor(await sshd(t)))
  const { main } = tunnel
  const url = tunnel.url()
  const { host, port } = new URL(url)

  assert.equal(await statusOf(url), 200)
  assert.equal(await statusOf(main), 200)
  assert.equal(await statusOf(url, { origin: url }), 200)
  assert.equal(await statusOf(main, { host, origin: url }), 200)
  for (const other of ['evil.example', `evil.example:${port}`, `127.0.0.2:${port}`, '127.0.0.1']) {
    assert.equal(await statusOf(url, { host: other }), 403, other)
    assert.equal(await statusOf(url, { origin: `http://${other}` }), 403, other)
  }
})

test('ssh also forwards to a main port on IPv6, and to a port that the URL leaves out', real, async (t) => {
  const server = await sshd(t)
  const { user, port, identity: identityFile, knownHosts: knownHostsFile } = server
  const settings = { destination: `${user}@127.0.0.1`, port, identityFile, knownHostsFile }
  const ssh = { use: 'tunnel/ssh', with: settings }
  const fixed = { use: 'tunnel/ssh', with: { ...settings, remotePort: await freePort() } }

  for (const entry of [ssh, fixed]) {
    const { tunnel } = await asked(t, entry)
    for (const local of ['http://[::1]:8080', 'http://127.0.0.1:80', 'https://[::1]:443']) {
      const open = await tunnel.open(new URL(local), AbortSignal.timeout(10_000))
      assert.match(open.url, /^http:\/\/127\.0\.0\.1:\d+$/)
      await open.close()
    }
  }
})

test('when the ssh server restarts, the log says so and the tunnel is opened again', real, async (t) => {
  const server = await sshd(t)
  const port = await freePort()
  const tunnel = await tunnelled(t, { ...settingsFor(server), tunnelSshRemotePort: port })
  assert.equal(tunnel.url(), `http://127.0.0.1:${port}`)
  assert.equal((await tunnel.readiness()).status, 200)

  await server.kill()
  await tunnel.until(/cannot be opened again yet/)
  const down = await tunnel.readiness()
  assert.equal(down.status, 503)
  assert.match(down.text, /the tunnel is lost: ssh: connect to host 127.0.0.1 port \d+: Connection refused/)
  await assert.rejects(statusOf(tunnel.url()))

  await server.start()
  await tunnel.until(/open again$/)
  assert.equal(await statusOf(tunnel.url()), 200)
  assert.equal((await tunnel.readiness()).status, 200)
  assert.deepEqual(tunnel.said().slice(0, 3), [
    'the tunnel is open',
    'the tunnel is lost; the gateway opens it again',
    'the tunnel cannot be opened again yet',
  ])
})

test('a port that the server chose stays the same when the tunnel is opened again', real, async (t) => {
  const server = await sshd(t)
  const tunnel = await tunnelled(t, settingsFor(server))
  const url = tunnel.url()

  await server.kill()
  await tunnel.until(/is lost/)
  await server.start()
  await tunnel.until(/open again$/)
  assert.equal(tunnel.url(), url)
  assert.equal(await statusOf(url), 200)
})

test('a reload leaves the tunnel open, and SIGINT closes it', real, async (t) => {
  const server = await sshd(t)
  const { proxy, url } = await started(t, flagsFor(server))
  const before = running(markOf(server))
  assert.ok(before.length > 0)

  proxy.reload()
  await eventually(() => /read again and is in force/.test(proxy.output.stderr) || undefined)
  assert.equal(await statusOf(url), 200)
  assert.deepEqual(running(markOf(server)), before)

  proxy.stop('SIGINT')
  assert.equal(await proxy.ended(), 0)
  assert.deepEqual(running(markOf(server)), [])
})

for (const signals of [['SIGKILL'], ['SIGTERM', 'SIGTERM']] as const) {
  test(`no ssh is left after ${signals.join(' and ')}`, real, async (t) => {
    const server = await sshd(t)
    t.after(() => endAll(markOf(server)))
    const { proxy, url } = await started(t, flagsFor(server))
    assert.equal(await statusOf(url), 200)
    assert.ok(running(markOf(server)).length > 0)

    for (const signal of signals) proxy.process.kill(signal)
    await proxy.ended()
    await gone(markOf(server))
    await eventually(() =>
      statusOf(url).then(
        () => undefined,
        () => true,
      ),
    )
  })
}

test('a tunnel that cannot be opened fails the start, and the error says what to do', real, async (t) => {
  const server = await sshd(t)
  const flags = flagsFor({ ...server, knownHosts: server.otherKnownHosts })
  const argv = [
    'proxy',
    'tunnel',
    'test',
    '--target-uri=http://127.0.0.1:1',
    '--allow-unauthenticated',
    ...flags,
  ]
  const proxy = startedProgram(t, argv)

  assert.equal(await proxy.ended(), 1, proxy.output.stderr)
  assert.match(proxy.output.stderr, /another host key than the one that is known: find out why/)
  assert.equal(proxy.output.stdout, '')
  assert.deepEqual(running(markOf(server)), [])
})

test('each reason for which ssh fails has its own message', real, async (t) => {
  const server = await sshd(t)
  const { port: taken } = await opened(t, createServer())
  const nobody = join(folder(t, { known: '' }), 'known')
  const revoked = join(folder(t, { known: `@revoked ${readFileSync(server.knownHosts, 'utf8')}` }), 'known')
  const mistakes: [object, RegExp][] = [
    [{ tunnelSshKnownHosts: nobody }, /No ED25519 host key is known .* add the key to known_hosts/],
    [{ tunnelSshKnownHosts: revoked }, /key that is marked as revoked/],
    [{ tunnelSshKnownHosts: server.otherKnownHosts }, /another host key than the one that is known/],
    [{ tunnelSshIdentity: server.otherIdentity }, /Permission denied .*--tunnel-ssh-identity/],
    [{ tunnelSshRemotePort: taken }, /refuses to listen on that port.*--tunnel-ssh-remote-port/],
    [{ tunnelSshPort: await freePort() }, /Connection refused.*check the destination/],
    [{ tunnelSshIdentity: './none' }, /none" cannot be read/],
  ]
  for (const [changed, expected] of mistakes) {
    await assert.rejects(tunnelled(t, { ...settingsFor(server), ...changed }), expected)
  }
  await gone(markOf(server))
})
