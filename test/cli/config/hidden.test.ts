import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { isJsonObject } from 'sallyport/toolkit'
import { stringify } from 'yaml'
import { partsOf } from '#cli/config/hidden.js'
import { main } from '#cli/program.js'
import { folder } from '#kit/folder.js'
import { listen } from '#kit/plugin.js'
import { program, testIo } from '#kit/program.js'

const SECRET = 'SALLYPORT_TEST_SECRET'
const REFERENCE = `\${env:${SECRET}}`

const provider = { name: 'corp', issuerUrl: 'https://idp.example', audience: 'here', clientId: 'me' }

const registryFile = {
  address: '127.0.0.1:0',
  internalAddress: '127.0.0.1:0',
  auth: {
    mode: 'oauth',
    publicPaths: ['/a'],
    oauth: {
      resourceUrl: 'https://registry.example',
      realm: 'mine',
      publicPaths: ['/b'],
      unavailableStatus: '401',
      providers: [
        {
          type: 'oidc',
          ...provider,
          jwksUrl: 'https://idp.example/keys',
          introspectionUrl: 'https://idp.example/introspect',
          clientSecretFile: './secret',
          caCertPath: './ca.pem',
          authTokenFile: './token',
          clockTolerance: '1s',
        },
        { type: 'jwt', ...provider, name: 'jwt', jwksUrl: 'https://idp.example/keys' },
        {
          type: 'introspection',
          ...provider,
          name: 'asked',
          introspectionUrl: 'https://idp.example/introspect',
          clientSecret: 'x',
        },
        { type: 'kubernetes', name: 'cluster', audience: 'here' },
      ],
    },
  },
  sources: [
    { name: 'one', file: { path: './servers.json', watch: 'true' } },
    { name: 'two', http: { url: 'https://registry.example', interval: '1m' } },
    { name: 'three', git: { url: 'https://git.example/x.git', path: 'servers.json', branch: 'main' } },
    { name: 'four', use: './source.mjs', with: { place: 'there' } },
  ],
  registries: [{ name: 'default', sources: ['one', 'two'] }],
  stateDirectory: './state',
  allowedOrigins: ['https://page.example'],
  allowedHosts: ['host.example'],
  plugins: [{ use: 'guard/rate-limit', id: 'mine', with: { a: 'b' }, before: 'registry/api' }],
}

const listFile = {
  plugins: [
    listen,
    { use: 'state/sqlite', with: { directory: './state', passphrase: 'x', passphraseFile: './pass' } },
    { use: 'registrar/given', with: { clientId: 'x', clientSecretFile: './secret' } },
    { use: 'credential/static-bearer', with: { file: './token', token: 'x', headerName: 'authorization' } },
    { use: 'credential/oauth', with: { target: 'https://target.example', issuer: 'https://idp.example' } },
    { use: 'credential/token-exchange', with: { url: 'https://sts.example', audience: 'x', scopes: ['a'] } },
    { scope: '/inner', plugins: [{ use: 'auth/oidc', with: { ...provider, caCertPath: './ca.pem' } }] },
    { use: 'forward/http', with: { target: 'https://target.example' } },
  ],
}

type Path = readonly (string | number)[]

const pathsIn = (value: unknown, at: Path = []): readonly Path[] => {
  if (typeof value === 'string') return [at]
  if (Array.isArray(value)) return value.flatMap((item, index) => pathsIn(item, [...at, index]))
  return isJsonObject(value)
    ? Object.entries(value).flatMap(([key, item]) => pathsIn(item, [...at, key]))
    : []
}

/** The settings with a text in the place of another. */
function withText(value: unknown, [step, ...rest]: Path, text: string): unknown {
  if (step === undefined) return text
  if (Array.isArray(value))
    return value.map((item, index) => (index === step ? withText(item, rest, text) : item))
  return isJsonObject(value) ? { ...value, [step]: withText(value[step], rest, text) } : value
}

const positions = [registryFile, listFile].flatMap((file) => pathsIn(file).map((path) => ({ file, path })))

/** What a command prints, to either stream. */
async function printed(argv: readonly string[], secret: string): Promise<string> {
  const { io, output } = testIo({ environment: { [SECRET]: secret } })
  await main(argv, io)
  return output.stdout + output.stderr
}

const word = fc.stringMatching(/^[A-Za-z0-9]{12,24}$/)
const secrets = fc.oneof(
  word,
  word.map((each) => `./${each}.mjs`),
  word.map((each) => `/nowhere//${each}/../${each}`),
  word.map((each) => `https://${each}.example/${each}?x=${each}`),
  word.map((each) => `@${each}/plugin`),
  word.map((each) => `${each} "ä"\n\\${each}`),
  word.map((each) => `127.0.0.1:${each}`),
  word.map((each) => `source/${each}`),
)
const wordsOf = (secret: string) => secret.match(/[A-Za-z0-9]{12,}/g) ?? []

test('check and --print-plugins print no value from the environment', async (t) => {
  const home = folder(t, { 'source.mjs': 'export default {}' })
  const config = join(home, 'config.yaml')
  const part = fc.constantFrom(REFERENCE, `./${REFERENCE}`, `https://${REFERENCE}.example`, `${REFERENCE}/x`)
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...positions),
      part,
      secrets,
      async ({ file, path }, written, secret) => {
        writeFileSync(config, stringify(withText(file, path, written)))
        const command = file === registryFile ? 'registry' : 'run'
        const checked = await printed(['check', '--config', config], secret)
        const text = checked + (await printed([command, '--config', config, '--print-plugins'], secret))
        for (const each of wordsOf(secret)) {
          assert.ok(!text.toLowerCase().includes(each.toLowerCase()), `${path.join('.')}: ${text}`)
        }
      },
    ),
    { numRuns: 100 },
  )
})

test('a short value is hidden where it stands alone, and changes no other word', async (t) => {
  const home = folder(t)
  const config = join(home, 'config.yaml')
  for (const secret of ['a', 'z9', 'ed', 'in']) {
    writeFileSync(config, stringify([{ use: REFERENCE }]))
    const text = await printed(['check', '--config', config], secret)
    assert.match(
      text,
      /plugin "\$\{env:SALLYPORT_TEST_SECRET\}" not found: neither a built-in plugin nor an installed package at /,
    )
  }
})

const KEYS = ['clientSecretFile', 'caCertPath', 'authTokenFile', 'type', 'name', 'issuerUrl'] as const

test('a start, doctor and explain print no value from the environment either', async (t) => {
  const secret = 'hunter2-Canary/of some kind'
  const environment = { [SECRET]: secret }
  const files = KEYS.map((key) => {
    const own = { ...provider, introspectionUrl: 'https://idp.example/i', [key]: REFERENCE }
    const providers = [own]
    return { auth: { oauth: { resourceUrl: 'https://registry.example', providers } } }
  })
  const lists = [
    { plugins: [{ use: 'credential/static-bearer', with: { file: REFERENCE } }] },
    { plugins: [{ use: 'source/file', id: REFERENCE, with: { name: 'x', path: REFERENCE } }] },
    { plugins: [{ use: REFERENCE }] },
  ]
  const home = folder(t, { token: 'abc' })
  const commands = (config: string, kind: string) => [
    [kind, '--config', config, '--debug'],
    ['doctor', '--config', config],
    ['explain', '--config', config, '--token-file', join(home, 'token')],
  ]
  const all = [
    ...files.map((file) => ['registry', file] as const),
    ...lists.map((file) => ['run', file] as const),
  ]
  const jobs = all.flatMap(([kind, file], index) => {
    const config = join(home, `${index}.yaml`)
    writeFileSync(config, stringify(file))
    return index % 3 === 1 ? commands(config, kind) : commands(config, kind).slice(0, 1)
  })
  const queue = jobs.values()
  const worker = async (): Promise<void> => {
    for (const argv of queue) {
      const ports = argv[0] === 'registry' ? ['--address=127.0.0.1:0', '--internal-address=127.0.0.1:0'] : []
      const started = program(t, [...argv, ...ports], { environment, patience: 20 })
      await Promise.race([
        started.ready().catch(() => {}),
        started.until(/need no credentials/).catch(() => {}),
      ])
      started.stop()
      await started.ended()
      assert.doesNotMatch(
        started.output.stdout + started.output.stderr,
        /hunter2|canary|some.{1,3}kind/i,
        argv.join(' '),
      )
    }
  }
  await Promise.all([worker(), worker()])
})

test('a hidden URL hides its host, except the host of this machine', () => {
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    const parts = partsOf(`redis://:hunter22@${host}:6379/long-path`)
    assert.ok(parts.includes('/long-path'), host)
    assert.ok(!parts.includes(host) && !parts.includes(`${host}:6379`), host)
  }
  assert.ok(partsOf('redis://:hunter22@db.example:6379').includes('db.example'))
})
