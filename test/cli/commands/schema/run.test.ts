import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import { filePresets } from '#cli/config/file-presets.js'
import { knownPlugins } from '#cli/config/known-plugins.js'
import { presetSchema } from '#cli/tools/schema/preset-schema.js'
import { runSchema } from '#cli/tools/schema/run-schema.js'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'
import { blocks, pages } from '../../../docs/pages.js'

const examples = join(import.meta.dirname, '../../../../examples')

/** What the command prints, without a process for each. */
async function schemaOf(kind: Kind, config?: string): Promise<ValidateFunction> {
  const known = await knownPlugins(config, {})
  assert.ok('plugins' in known, JSON.stringify(known))
  const preset = filePresets().find((each) => each.kind === kind)
  return compiled(preset === undefined ? runSchema(known.plugins) : presetSchema(preset, known.plugins))
}

type Kind = 'registry' | 'proxy' | 'run'

const validators = new Map<string, ValidateFunction>()

/** One schema is compiled once: to compile it takes far longer than to make it or to use it. */
function compiled(schema: object): ValidateFunction {
  const text = JSON.stringify(schema)
  const validate = validators.get(text) ?? ajv().compile(schema)
  validators.set(text, validate)
  return validate
}

// The formats of editors are no mistake here; a keyword that is misspelt is.
const ajv = (): Ajv2020 =>
  new Ajv2020({ strictSchema: true, allErrors: true, validateFormats: false, code: { optimize: false } })

const faultsOf = (validate: ValidateFunction, value: unknown): readonly string[] => {
  validate(value)
  return (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`)
}

/** It finds a fault at this path. */
function refuses(validate: ValidateFunction, value: unknown, path: string): void {
  const faults = faultsOf(validate, value)
  assert.ok(
    faults.some((fault) => fault.startsWith(`${path} `)),
    `${JSON.stringify(value)}: ${faults.join('; ')}`,
  )
}

function kindOf(value: unknown): Kind {
  const keys = Object.keys(Object(value))
  if (keys.includes('targetUri')) return 'proxy'
  return Array.isArray(value) || keys.join() === 'plugins' ? 'run' : 'registry'
}

test('every sample and every example is valid by the schema of its kind', async () => {
  const samples = pages()
    .flatMap((page) => blocks(page, 'yaml'))
    .map(({ text }) => ({ name: text, value: parse(text), config: undefined }))
  const files = readdirSync(examples, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?:sallyport|gateway)\.yaml$|^token-exchange.*\.yaml$/.test(file))
    .map((file) => join(examples, file))
    .map((file) => ({ name: file, value: parse(readFileSync(file, 'utf8')), config: file }))
  assert.ok(samples.length >= 3 && files.length >= 1)
  const builtIn = {
    registry: await schemaOf('registry'),
    proxy: await schemaOf('proxy'),
    run: await schemaOf('run'),
  }
  for (const { name, value, config } of [...samples, ...files]) {
    const kind = kindOf(value)
    const validate = config === undefined ? builtIn[kind] : await schemaOf(kind, config)
    assert.deepEqual(faultsOf(validate, value), [], name)
  }
})

test('the schema finds mistakes of a registry file at their place', async () => {
  const validate = await schemaOf('registry')
  const oauth = { resourceUrl: 'https://r.example', providers: [] as object[] }
  const provider = { name: 'corp', issuerUrl: 'https://idp.example', audience: 'r' }
  const wrong: readonly (readonly [string, object])[] = [
    ['', { adress: 'x' }],
    ['/address', { address: 'no port' }],
    ['/auth/mode', { auth: { mode: 'open' } }],
    [
      '/auth/oauth/providers/0',
      { auth: { oauth: { ...oauth, providers: [{ ...provider, audienc: 'x' }] } } },
    ],
    ['/auth/oauth/providers/0', { auth: { oauth: { ...oauth, providers: [{ name: 'corp' }] } } }],
    [
      '/auth/oauth/providers/0/allowPrivateIP',
      { auth: { oauth: { ...oauth, providers: [{ type: 'kubernetes', allowPrivateIP: 'yes' }] } } },
    ],
    ['/sources/0/file', { sources: [{ name: 'own', file: { paths: 'x' } }] }],
    ['/sources/0', { sources: [{ name: 'own' }] }],
    ['/sources/0/http/maxPageBytes', { sources: [{ name: 'up', http: { url: 'x', maxPageBytes: 'many' } }] }],
    ['/plugins/0/with', { plugins: [{ use: 'headers/static', with: { headrs: [] } }] }],
  ]
  for (const [path, value] of wrong) refuses(validate, value, path)
  const right = {
    auth: { oauth: { ...oauth, providers: [provider, { type: 'kubernetes', audience: 'r' }] } },
  }
  assert.deepEqual(faultsOf(validate, right), [])
})

test('a reference stands for any text, also where the schema has a pattern', async () => {
  const validate = await schemaOf('registry')
  assert.deepEqual(
    faultsOf(validate, { address: '\u0024{env:ADDRESS}', auth: { mode: '\u0024{env:MODE}' } }),
    [],
  )
})

test('the plugins of a file are in its schema, inside scopes too', async (t) => {
  const options = `{ '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }),
    jsonSchema: { input: () => ({ type: 'object', properties: { size: { $ref: '#/$defs/n' } }, $defs: { n: { type: 'number' } },
      additionalProperties: false }), output: () => ({}) } } }`
  const home = folder(t, {
    'mine.mjs': `export default { name: 'mine', api: 1, options: ${options}, setup() {} }`,
    'list.yaml':
      '- { use: ./mine.mjs, with: { size: 1 } }\n- { scope: /a, plugins: [{ use: ./mine.mjs }] }\n',
  })
  const validate = await schemaOf('run', join(home, 'list.yaml'))
  assert.deepEqual(faultsOf(validate, [{ use: './mine.mjs', with: { size: 1 } }]), [])
  assert.ok(faultsOf(validate, [{ use: './mine.mjs', with: { size: 'x' } }]).includes('/0/with/size type'))
  const inner = { scope: '/a', plugins: [{ use: './mine.mjs', with: { sise: 1 } }] }
  assert.ok(
    faultsOf(validate, { plugins: [inner] }).includes('/plugins/0/plugins/0/with additionalProperties'),
  )
})

test('the schema finds mistakes of a proxy file at their place, and accepts a text for any value', async (t) => {
  const home = folder(t, {
    'mine.mjs': `import { z } from '${import.meta.resolve('zod')}'
      export default { name: 'mine', api: 1, options: z.strictObject({ size: z.number() }), setup() {} }`,
    'proxy.yaml':
      'targetUri: https://mcp.example.com/mcp\nplugins: [{ use: ./mine.mjs, with: { size: 1 } }]\n',
  })
  const validate = await schemaOf('proxy', join(home, 'proxy.yaml'))
  const right = {
    targetUri: 'https://mcp.example.com/mcp',
    port: '\u0024{env:PORT}',
    targetTimeout: '30s',
    maxBody: '16MiB',
    allowUnauthenticated: true,
    oidcScopes: 'a,b',
    remoteForwardHeaders: { 'X-Key': 'value' },
    plugins: [
      { use: './mine.mjs', with: { size: 1 }, replaces: 'auth/anonymous' },
      { use: 'audit/mine', before: 'forward/http' },
    ],
  }
  assert.deepEqual(faultsOf(validate, right), [])
  const wrong: readonly (readonly [string, object])[] = [
    ['', { targetURI: 'https://mcp.example.com' }],
    ['/port', { port: 99_999 }],
    ['/targetTimeout', { targetTimeout: 30 }],
    ['/remoteForwardHeaders', { remoteForwardHeaders: { 'X-Key': 1 } }],
    ['/remoteAuthGrant', { remoteAuthGrant: 'password' }],
    ['/plugins/0/with/size', { plugins: [{ use: './mine.mjs', with: { size: 'x' } }] }],
    ['/plugins/0/with', { plugins: [{ use: 'headers/static', with: { headrs: [] } }] }],
    ['/plugins/0', { plugins: [{ use: './mine.mjs', with: { size: 1 }, replace: 'auth/anonymous' }] }],
  ]
  for (const [path, value] of wrong) refuses(validate, value, path)
})

test('a plugin that cannot be loaded is reported, and no schema is printed', async (t) => {
  const home = folder(t, { 'list.yaml': '- use: ./absent.mjs\n' })
  const printing = program(t, ['schema', 'run', '--config', join(home, 'list.yaml')])
  assert.equal(await printing.ended(), 2)
  assert.equal(printing.output.stdout, '')
  assert.match(printing.output.stderr, /absent\.mjs/)
})

test('every schema is printed completely', async (t) => {
  for (const kind of ['registry', 'proxy', 'proxy-tunnel', 'run']) {
    const printing = program(t, ['schema', kind])
    assert.equal(await printing.ended(), 0, printing.output.stderr)
    const schema = JSON.parse(printing.output.stdout)
    assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema')
    compiled(schema)
  }
})
