import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { folder } from '#kit/folder.js'
import { packageOf } from '../package.js'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)
const tsc = join(root, 'node_modules/typescript/bin/tsc')

/** The environment of another machine: without this checkout, and without the variables of this test run. */
const { PATH = '', HOME = '' } = process.env
const env = { PATH, HOME }

async function ran(cwd: string, ...argv: readonly string[]): Promise<string> {
  const ended = await run(process.execPath, [...argv], { cwd, env }).catch((error: unknown) => {
    const { stdout, stderr } = Object(error)
    return assert.fail(`${argv.join(' ')}\n${stdout}${stderr}`)
  })
  return ended.stdout
}

/** A folder with the unpacked tarball and the packages that it depends on. */
async function installed(t: TestContext): Promise<string> {
  const staged = packageOf(root, true)
  const home = folder(t, { 'package.json': '{"name":"home","private":true}' })
  const packing = ['pack', '--silent', '--ignore-scripts', '--pack-destination', home]
  const { stdout } = await run('npm', packing, { cwd: staged, env })
  const directory = join(home, 'node_modules/sallyport')
  mkdirSync(directory, { recursive: true })
  await run('tar', ['-xzf', join(home, stdout.trim()), '--strip-components=1', '-C', directory])

  const { dependencies } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  const tools = ['@modelcontextprotocol/sdk', 'tsx', 'typescript', '@types/node']
  for (const name of [...Object.keys(dependencies), ...tools]) {
    mkdirSync(dirname(join(home, 'node_modules', name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(home, 'node_modules', name))
  }
  return home
}

const body = (types: boolean): string => `
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin, Guard${types ? ', type Gateway' : ''} } from 'sallyport'
import { booted, protectedRoute, contractSuite, eventually, fakeClock, gatewayWith, issuing, mcpTarget } from 'sallyport/testing'

const mine = definePlugin({
  name: 'mine', api: 1, summary: 'Does nothing.', provides: [Guard],
  setup(gateway${types ? ': Gateway' : ''}) { gateway.provide(Guard, () => {}) },
})

test('the gateway accepts a token of the issuer until it expires', async (t) => {
  const clock = fakeClock(t)
  const issuer = await issuing(t)
  const { requestWith } = await gatewayWith(t, [{ use: mine }, { use: 'auth/jwt', with: issuer.provider }])
  const token = await issuer.jwt()
  assert.equal((await requestWith(\`Bearer \${token}\`)).status, 200)
  await clock.advance(300_000)
  assert.equal((await requestWith(\`Bearer \${token}\`)).status, 401)
})

test('the package brings an MCP target, which names its missing packages', async (t) => {
  const target = await mcpTarget(t)
  const app = await booted(t, [{ use: 'auth/anonymous' }, { use: protectedRoute }, { use: 'forward/http', with: { target: target.url } }])
  assert.equal((await app.inject('/mcp')).statusCode >= 400, true)
  await eventually(() => (target.asked.length > 0 ? true : undefined))
  await assert.rejects(mcpTarget(t, { era: '2026-07-28' }), /npm install --save-dev @modelcontextprotocol\\/server/)
})

contractSuite('mine', () => ({ list: [{ use: mine }] }))
`

test('the unpacked package tests a plugin in JavaScript and in TypeScript, and creates one', async (t) => {
  const home = await installed(t)
  writeFileSync(join(home, 'a.test.mjs'), body(false))
  writeFileSync(join(home, 'b.test.mts'), body(true))
  writeFileSync(
    join(home, 'c.cjs'),
    "console.log([require('sallyport').definePlugin, require('sallyport/testing').booted].map((each) => typeof each).join())",
  )
  const compiler = {
    module: 'nodenext',
    target: 'es2024',
    strict: true,
    noEmit: true,
    types: ['node'],
    skipLibCheck: true,
  }
  writeFileSync(
    join(home, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: compiler, include: ['b.test.mts'] }),
  )

  assert.match(await ran(home, '--test', 'a.test.mjs'), /pass \d+\n/)
  assert.match(await ran(home, '--test', 'b.test.mts'), /pass \d+\n/)
  assert.equal(await ran(home, 'c.cjs'), 'function,function\n')
  await ran(home, tsc, '-p', '.')

  const bin = join(home, 'node_modules/sallyport/cli/bin.js')
  await ran(home, bin, 'plugin', 'new', 'my-auth', '--kind', 'authenticator')
  const made = join(home, 'my-auth')
  assert.match(readFileSync(join(made, 'package.json'), 'utf8'), /"sallyport": "\^/)
  assert.match(await ran(made, '--import', 'tsx', '--test', 'index.test.ts'), /fail 0\n/)
  await ran(made, tsc)
  assert.match(await ran(made, bin, 'plugin', 'verify', '.'), /it keeps the contract of authenticator/)
})
