import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { program } from '#kit/program.js'

const root = join(import.meta.dirname, '../..')

/** A copy of the examples in another folder, beside the packages that its plugins import. */
function copied(t: TestContext): string {
  const home = folder(t, {})
  cpSync(join(root, 'examples'), join(home, 'examples'), { recursive: true })
  mkdirSync(join(home, 'node_modules'))
  symlinkSync(join(root, 'node_modules/zod'), join(home, 'node_modules/zod'))
  return join(home, 'examples')
}

async function registry(t: TestContext, name: string): Promise<string> {
  const cwd = join(copied(t), name)
  const ports = ['--address', '127.0.0.1:0', '--internal-address', '127.0.0.1:0']
  const running = program(t, ['registry', '--config', 'sallyport.yaml', ...ports], { cwd })
  return `${await running.ready()}/registry/default/v0.1/servers`
}

/** The listed names, as soon as there are any. */
const namesAt = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  eventually(async () => {
    const response = await fetch(url, { headers })
    if (response.status === 503) return undefined
    assert.equal(response.status, 200)
    const { servers }: { servers: { server: { name: string } }[] } = JSON.parse(await response.text())
    return servers.length === 0 ? undefined : servers.map(({ server }) => server.name)
  })

test('third-party-auth: the gateway accepts the key, as its holder, and refuses everything else', async (t) => {
  const url = await registry(t, 'third-party-auth')
  const key = readFileSync(join(root, 'examples/third-party-auth/build-bot.key'), 'utf8').trim()
  assert.ok((await namesAt(url, { authorization: `Bearer ${key}` })).length > 0)
  for (const authorization of [`Bearer ${key}x`, `Basic ${key}`, key])
    assert.equal((await fetch(url, { headers: { authorization } })).status, 401)
  assert.match((await fetch(url)).headers.get('www-authenticate') ?? '', /resource_metadata=/)
})

test('third-party-source: the registry lists the inventory', async (t) => {
  const names = await namesAt(await registry(t, 'third-party-source'))
  assert.deepEqual(names.toSorted(), ['com.example/calendar', 'com.example/weather'])
})

test('custom-gateway: a registry and two proxies share one port and one guard', async (t) => {
  const target = await listening(t, ({ headers, url }, response) =>
    response.end(JSON.stringify({ url, team: headers['x-team'] })),
  )
  const cwd = join(copied(t), 'custom-gateway')
  const text = readFileSync(join(cwd, 'gateway.yaml'), 'utf8')
    .replace('127.0.0.1:8080 }', '127.0.0.1:0 }')
    .replaceAll(/https:\/\/\w+\.example\.com/g, target)
  writeFileSync(join(cwd, 'gateway.yaml'), text)
  const running = program(t, ['run', '--config', 'gateway.yaml'], { cwd })
  const origin = await running.ready()

  assert.ok((await namesAt(`${origin}/registry/default/v0.1/servers`)).length > 0)
  assert.deepEqual(await (await fetch(`${origin}/weather/mcp`)).json(), { url: '/mcp' })
  assert.deepEqual(await (await fetch(`${origin}/calendar/mcp`)).json(), { url: '/mcp', team: 'office' })

  writeFileSync(join(cwd, 'closed.yaml'), text.replace('from: 0, to: 24', 'from: 0, to: 0'))
  const closed = await program(t, ['run', '--config', 'closed.yaml'], { cwd }).ready()
  for (const path of ['/registry/default/v0.1/servers', '/weather/mcp'])
    assert.equal((await fetch(`${closed}${path}`)).status, 403)
})

test('the plugins of the examples keep their contracts', async (t) => {
  const home = copied(t)
  const options = join(home, 'third-party-source', 'options.yaml')
  writeFileSync(options, 'name: mine\npath: inventory.csv\n')
  const plugins = [
    ['third-party-auth/api-key.mjs'],
    ['third-party-source/inventory.mjs', '--with', options],
    ['custom-gateway/office-hours.mjs'],
  ]
  for (const [file = '', ...flags] of plugins) {
    const verifying = program(t, ['plugin', 'verify', join(home, file), ...flags])
    assert.equal(await verifying.ended(), 0, verifying.output.stdout)
    assert.doesNotMatch(verifying.output.stdout, /^(?:wrong|warning)/m)
  }
})
