import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { twoFreePorts } from '#kit/free-port.js'
import { issuing } from '#kit/issuer.js'
import { program } from '#kit/program.js'

const example = join(import.meta.dirname, '../../examples/publish')

test('the registry of the example accepts what its publishers may publish, and shows the publisher', async (t) => {
  const issuer = await issuing(t)
  const [main, internal] = await twoFreePorts()
  const config = readFileSync(join(example, 'sallyport.yaml'), 'utf8')
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${main}`)
    .replaceAll('127.0.0.1:8081', `127.0.0.1:${internal}`)
    .replace('issuerUrl: https://idp.example.com/', `issuerUrl: "${issuer.url}", allowPrivateIP: true`)
  const claims = { aud: `http://127.0.0.1:${main}` }
  const files = folder(t, {
    'sallyport.yaml': config,
    'server.json': readFileSync(join(example, 'server.json'), 'utf8'),
    team: await issuer.jwt({ ...claims, groups: ['platform'] }),
    pipeline: await issuer.jwt({ ...claims, sub: 'weather-pipeline' }),
  })
  const environment = { XDG_STATE_HOME: files }
  const registry = program(t, ['registry', '--config', 'sallyport.yaml'], { cwd: files, environment })
  const origin = await registry.ready()
  const run = async (token: string, ...argv: string[]) => {
    const flags = ['--registry', `${origin}/registry/default`, '--token-file', token]
    const child = program(t, ['publish', ...argv, ...flags], { cwd: files, environment })
    return { code: await child.ended(), ...child.output }
  }

  const published = await run('pipeline', 'server.json')
  assert.equal(published.code, 0, published.stderr)
  const status = ['com.example/weather@1.0.0', '--status', 'deprecated', '--message', 'take 2.0.0']
  assert.equal((await run('pipeline', ...status)).code, 1)
  const deprecated = await run('team', ...status)
  assert.equal(deprecated.code, 0, deprecated.stderr)

  const page = await fetch(`${origin}/registry/default/servers/com.example%2Fweather`, {
    headers: { authorization: `Bearer ${await issuer.jwt(claims)}` },
  })
  assert.match(await page.text(), /by <bdi>weather-pipeline<\/bdi> \(<bdi>corp<\/bdi>\)/)
})
