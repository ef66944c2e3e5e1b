import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { TunnelSettings, tunnel } from 'sallyport/presets/tunnel'
import { recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { freePort } from '#kit/free-port.js'
import { issuing } from '#kit/issuer.js'
import { oidcSettings } from '#kit/oidc-settings.js'
import { runs } from '#kit/runs.js'
import { variables } from '#kit/variables.js'
import { asked } from './asked.js'
import { endAll, gone, running } from './processes.js'
import { started, statusOf, tunnelled } from './tunnelled.js'

const CLIENT = join(import.meta.dirname, 'client.mjs')
const PATTERN = 'url=(http://\\S+)'
const local = new URL('http://127.0.0.1:1')

const client = (more = '') => ({
  tunnelProvider: 'command',
  tunnelCommand: `"${process.execPath}" "${CLIENT}" {port} ${more}`,
  tunnelCommandPattern: PATTERN,
})

/** A text in the command line of a test's processes. They end with the test, also when it fails. */
function word(t: TestContext): string {
  const mark = `word${Math.random().toString(36).slice(2)}`
  t.after(() => endAll(mark))
  return mark
}

async function killClient(mark: string): Promise<void> {
  const own = running(mark).filter(({ command }) => !command.includes('sallyport-supervisor'))
  for (const { pid } of own) process.kill(pid, 'SIGKILL')
  await gone(`grandchild-${mark}`)
}

test('callers reach the proxy through a tunnel client, at the first URL that it prints, and under no other host', async (t) => {
  const mark = word(t)
  const tunnel = await tunnelled(t, client(`0 ${mark}`))
  const url = tunnel.url()

  assert.match(url, /^http:\/\/127\.0\.0\.1:\d{2,}$/)
  assert.equal(await statusOf(url), 200)
  assert.equal(await statusOf(url, { host: '127.0.0.1:1' }), 403)
  assert.equal(running(`grandchild-${mark}`).length, 1)

  await tunnel.running.stop()
  await gone(mark)
})

test('a client that dies is started again, with all its processes, and its new URL replaces the old one', async (t) => {
  const mark = word(t)
  const issuer = await issuing(t)
  const tunnel = await tunnelled(t, {
    ...client(`0 ${mark}`),
    ...oidcSettings(issuer),
  })
  const before = tunnel.url()
  const [old = 0] = running(`grandchild-${mark}`).map(({ pid }) => pid)

  await killClient(mark)
  await tunnel.until(/under another public URL/)
  const url = tunnel.url()
  assert.notEqual(url, before)
  assert.equal(running(`grandchild-${mark}`).length, 1)
  assert.notEqual(running(`grandchild-${mark}`)[0]?.pid, old)

  // The old host may belong to another user of the tunnel service now.
  assert.equal(await statusOf(url, { host: new URL(before).host }), 403)
  assert.equal(await statusOf(url, { origin: before }), 403)
  assert.equal(await statusOf(url, { origin: url }), 401)
  const refused = await fetch(url)
  const challenge = refused.headers.get('www-authenticate') ?? ''
  const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? []
  assert.ok(metadata.startsWith(`${url}/`), metadata)
  const { resource } = (await (await fetch(metadata)).json()) as Record<string, unknown>
  assert.equal(new URL(String(resource)).origin, url)
  assert.equal((await fetch(url, { headers: { authorization: `Bearer ${await issuer.jwt()}` } })).status, 200)
  const readiness = await tunnel.readiness()
  assert.equal(readiness.status, 200)
  assert.match(readiness.text, new RegExp(`degraded.*no longer ${before}`))
})

test('a configured resource URL stays when the public URL changes', async (t) => {
  const mark = word(t)
  const issuer = await issuing(t)
  const tunnel = await tunnelled(t, {
    ...client(`0 ${mark}`),
    ...oidcSettings(issuer),
    resourceUrl: 'https://mcp.example/mcp',
  })
  const challenge = async (): Promise<string> =>
    (await fetch(tunnel.url())).headers.get('www-authenticate') ?? ''
  assert.match(await challenge(), /="https:\/\/mcp\.example\/\.well-known\/oauth-protected-resource\/mcp"/)
  assert.equal(await statusOf(tunnel.url(), { host: 'mcp.example' }), 401)

  await killClient(mark)
  await tunnel.until(/under another public URL/)
  assert.match(await challenge(), /="https:\/\/mcp\.example\/\.well-known\/oauth-protected-resource\/mcp"/)
})

test('a client with a fixed port has the same URL after a restart', async (t) => {
  const mark = word(t)
  const tunnel = await tunnelled(t, client(`${await freePort()} ${mark}`))
  const before = tunnel.url()
  await killClient(mark)
  await tunnel.until(/open again$/)
  assert.equal(tunnel.url(), before)
  assert.equal(await statusOf(before), 200)
})

test('with a public URL the pattern only finds when the tunnel is open', async (t) => {
  const tunnel = await tunnelled(t, {
    ...client(),
    tunnelCommandPattern: 'welcome',
    tunnelPublicUrl: 'https://mcp.example',
  })
  assert.equal(tunnel.url(), 'https://mcp.example')
  assert.equal(await statusOf(tunnel.main, { host: 'mcp.example' }), 200)
})

test('kill -9 of the proxy leaves neither the client nor its processes', async (t) => {
  const mark = word(t)
  const { tunnelProvider, tunnelCommand, tunnelCommandPattern } = client(`0 ${mark}`)
  const { proxy, url } = await started(t, [
    `--tunnel-provider=${tunnelProvider}`,
    `--tunnel-command=${tunnelCommand}`,
    `--tunnel-command-pattern=${tunnelCommandPattern}`,
  ])
  assert.equal(await statusOf(url), 200)
  await eventually(() => running(`grandchild-${mark}`).length === 1 || undefined)

  proxy.process.kill('SIGKILL')
  await proxy.ended()
  await gone(mark)
})

test('when the supervisor is killed, the client ends', async (t) => {
  const mark = word(t)
  const tunnel = await tunnelled(t, client(`0 ${mark}`))
  const before = running(mark).map(({ pid }) => pid)
  const supervisor = running(mark).filter(({ command }) => command.includes('sallyport-supervisor'))
  assert.ok(supervisor.length > 0)

  for (const { pid } of supervisor) process.kill(pid, 'SIGKILL')
  await tunnel.until(/is lost/)
  const left = running(mark).filter(({ pid }) => before.includes(pid))
  assert.deepEqual(left, [])
})

test('the secrets of the gateway are not in the environment of the client', async (t) => {
  variables(t, { SALLYPORT_SECRET_X: 'secret', SERVICE_X: 'secret', OWN_NAME: 'known-secret' })
  const { tunnel, printed } = await asked(
    t,
    {
      use: 'tunnel/command',
      with: { command: [process.execPath, CLIENT, '{port}'], pattern: PATTERN },
    },
    'known-secret',
  )
  const open = await tunnel.open(local, new AbortController().signal)
  t.after(() => open.close())
  const last = await eventually(() => printed().find((line) => line.includes('127.0.0.1:1')))
  assert.equal(last, 'url=http://127.0.0.1:1')
})

/** The URL that the plugin finds in these lines, or why it finds none. */
async function readOff(t: TestContext, lines: readonly string[], pattern?: string): Promise<string> {
  const file = join(folder(t), 'lines')
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''))
  const { tunnel } = await asked(t, {
    use: 'tunnel/command',
    with: { command: ['cat', file], ...(pattern !== undefined && { pattern }) },
  })
  try {
    return (await tunnel.open(local, new AbortController().signal)).url
  } catch (error) {
    return (error as { code: string }).code
  }
}

const host = fc.stringMatching(/^[a-z]([a-z\d-]{0,8}[a-z\d])?(\.[a-z]{2,5}){1,2}$/)
const good = host.map((name) => `https://${name}`)
const bad = fc.oneof(
  host.map((name) => `http://${name}`),
  host.map((name) => `https://user:password@${name}`),
  fc.tuple(host, fc.stringMatching(/^[a-z]{1,5}$/)).map(([name, path]) => `https://${name}/${path}`),
  host.map((name) => `https://${name}?a=b`),
  host.map((name) => `ftp://${name}`),
  fc.constantFrom('https://', 'https://localhost:8443', 'https://127.0.0.1', 'https://[::1]:1'),
)
const around = fc.constantFrom('', 'INF |  ', 'url=', '(', 'visit ', '\u001b[1m')

test('the public URL is the first https URL without a path that a program prints', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(around, bad)),
      fc.option(good),
      fc.array(good),
      async (before, url, after) => {
        const lines = before.map(([prefix, text]) => `${prefix}${text}`)
        if (url === null) assert.equal(await readOff(t, lines), 'TUNNEL_ENDED')
        else assert.equal(await readOff(t, [...lines, `x ${url}. y`, ...after]), url)
      },
    ),
    { numRuns: runs(30) },
  )
})

test('the client gets the port of the main URL, also when the URL leaves it out', async (t) => {
  const script = 'console.log("https://a.example:" + process.argv[1])'
  const { tunnel } = await asked(t, {
    use: 'tunnel/command',
    with: { command: [process.execPath, '-e', script, '{port}'] },
  })

  const open = await tunnel.open(new URL('http://127.0.0.1:80'), AbortSignal.timeout(10_000))
  assert.equal(open.url, 'https://a.example:80')
  await open.close()
})

test('the plugin finds the URL in the output of well-known clients', async (t) => {
  // Output from their sources and users' reports: none of the clients could be run here.
  const cloudflared = [
    '2026-01-01T00:00:00Z INF Thank you for trying Cloudflare Tunnel. Terms of Use (https://www.cloudflare.com/website-terms/), and https://developers.cloudflare.com/cloudflare-one/connections/connect-apps',
    '2026-01-01T00:00:01Z INF Requesting new quick Tunnel on trycloudflare.com...',
    '2026-01-01T00:00:02Z INF |  https://one-two-three.trycloudflare.com                                        |',
  ]
  assert.equal(await readOff(t, cloudflared), 'https://one-two-three.trycloudflare.com')
  const ngrok = [
    't=2026-01-01T00:00:00+0000 lvl=info msg="starting web service" obj=web addr=127.0.0.1:4040',
    't=2026-01-01T00:00:01+0000 lvl=info msg="started tunnel" obj=tunnels name=command_line addr=http://localhost:80 url=https://a1b2.ngrok-free.app',
  ]
  assert.equal(await readOff(t, ngrok), 'https://a1b2.ngrok-free.app')
  const tailscale = [
    'Available on the internet:',
    '',
    'https://box.tail1234.ts.net/',
    '|-- proxy http://127.0.0.1:1',
  ]
  assert.equal(await readOff(t, tailscale), 'https://box.tail1234.ts.net/')
  const asking = ['To enable, visit:', '', '         https://login.tailscale.com/f/funnel?node=abc']
  assert.equal(await readOff(t, asking), 'TUNNEL_ENDED')
  assert.equal(await readOff(t, ['your url is: https://calm-cat-1.loca.lt']), 'https://calm-cat-1.loca.lt')
})

test('the match of a pattern is validated too, and a slow pattern ends the attempt', async (t) => {
  assert.equal(await readOff(t, ['at https://a.example/x'], 'at (\\S+)'), 'TUNNEL_URL')
  assert.equal(await readOff(t, ['at http://a.example'], 'at (\\S+)'), 'TUNNEL_URL')
  assert.equal(await readOff(t, ['at https://a@b.example'], 'at (\\S+)'), 'TUNNEL_URL')
  assert.equal(await readOff(t, ['at https://a.example'], 'at (\\S+)'), 'https://a.example')
  const began = Date.now()
  assert.equal(await readOff(t, [`${'a'.repeat(60)}!`], '^(a+)+$'), 'TUNNEL_PATTERN')
  assert.ok(Date.now() - began < 10_000)
})

test('T10: the output of a client is logged at debug level, without secrets', async (t) => {
  const { log, lines } = recordedLog()
  const said =
    'at https://a.example authtoken: x, Authorization: Bearer canary-1 and https://u:canary-2@b.example'
  const file = join(folder(t, { said: `${said}\n` }), 'said')
  const list = tunnel(
    TunnelSettings.parse({
      targetUri: 'http://127.0.0.1:1',
      allowUnauthenticated: true,
      tunnelProvider: 'command',
      tunnelCommand: `tail -n +1 -f ${file} {url}`,
    }),
  )
  await serving(t, list, { log })
  const shown = lines.filter(({ line }) => String(line).includes('https://a.example'))
  assert.deepEqual(
    shown.map(({ level }) => level),
    ['debug'],
  )
  assert.doesNotMatch(JSON.stringify(lines), /canary/)
})

test('only the beginning of an endless line is kept in memory', async (t) => {
  const { tunnel, printed } = await asked(t, {
    use: 'tunnel/command',
    with: { command: ['head', '-c', '50000000', '/dev/zero'] },
  })
  await assert.rejects(tunnel.open(local, new AbortController().signal), /ended with 0 before/)
  assert.ok(printed().every((line) => line.length <= 4096))
})

test('a client that prints no URL in time, or is not installed, fails the start', async (t) => {
  const mark = word(t)
  const silent = { ...client(`0 ${mark}`), tunnelCommandPattern: 'never (x)', tunnelTimeout: 1_500 }
  await assert.rejects(tunnelled(t, silent), /no tunnel within 1\.5 s: --debug shows/)
  await gone(mark)
  await assert.rejects(
    tunnelled(t, { ...client(), tunnelCommand: 'no-such-program {url}' }),
    /"no-such-program" cannot be run/,
  )
  await assert.rejects(
    tunnelled(t, { ...client(), tunnelCommand: 'false {url}' }),
    /false ended with 1 before it printed/,
  )
})

const FLOODS: Readonly<Record<string, { readonly script: string; readonly pattern: string }>> = {
  'more lines than anybody reads': { script: "'y\\n'.repeat(60_000)", pattern: 'url=(\\S+)' },
  'many lines that each take the pattern its time': {
    script: "('a'.repeat(40) + '!\\n').repeat(400)",
    pattern: '^(?:a+)+$|url=(\\S+)',
  },
}
for (const [what, { script, pattern }] of Object.entries(FLOODS)) {
  test(`a program that prints ${what} fails, and does not block this process`, async (t) => {
    const command = [process.execPath, '-e', `process.stdout.write(${script}); setInterval(() => {}, 1000)`]
    const { tunnel } = await asked(t, { use: 'tunnel/command', with: { command, pattern } })
    const delay = monitorEventLoopDelay()
    delay.enable()
    const opening = tunnel.open(local, AbortSignal.timeout(30_000))
    await assert.rejects(opening, { code: 'TUNNEL_PATTERN' })
    delay.disable()
    assert.ok(delay.max / 1e6 < 2_500, `${delay.max / 1e6} ms`)
  })
}
