import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'

async function check(t: TestContext, text: string, files: Readonly<Record<string, string>> = {}) {
  const home = folder(t, { 'config.yaml': text, ...files })
  const checking = program(t, ['check', '--config', join(home, 'config.yaml')])
  return { code: await checking.ended(), ...checking.output }
}

const placesOf = (stderr: string) =>
  stderr
    .trim()
    .split('\n')
    .map((line) => /config\.yaml:\d+:\d+ \S+|^plugin "[^"]+"/.exec(line)?.[0].replace(/: ?$/, ''))

test('a registry that would start ends with 0, and nothing listens for it', async (t) => {
  const { code, stderr, stdout } = await check(t, 'auth: { mode: anonymous }\n')
  assert.equal(code, 0, stderr)
  assert.equal(stderr, '')
  assert.match(stdout, /config\.yaml: nothing is wrong/)
})

test('a list of plugins is checked as `run` would, with scopes and third-party plugins', async (t) => {
  const mine = `export default { name: 'mine', api: 1, setup() {} }`
  const text = '- use: ./mine.mjs\n- scope: /a\n  plugins:\n    - use: auth/anonymous\n'
  const { code, stdout, stderr } = await check(t, text, { 'mine.mjs': mine })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /plugins: 2\nnot checked: .*doctor --config .*config\.yaml.*\n$/)
})

test('mistakes of form and of entries are reported together, in the order of the file, then mistakes of the resulting list', async (t) => {
  const sections = [
    'auth:',
    '  oauth:',
    '    resourceUrl: https://registry.example',
    '    providers: [{ name: corp, issuerUrl: https://idp.example, audience: x, alowPrivateIP: true }]',
    'sources:',
    '  - { name: other, file: { path: a.json, watsh: true } }',
    'plugins: [{ use: auth/anonymous, with: { odd: true } }]',
  ]
  const placesIn = async (text: readonly string[]) => {
    const { code, stderr, stdout } = await check(t, text.join('\n'))
    assert.equal(code, 2)
    assert.equal(stdout, '')
    return placesOf(stderr).map((place) => place?.split(' ')[1]?.replace(/:$/, ''))
  }
  const form = ['addres: 127.0.0.1:80', `stateDirectory: "\${env:NOBODY_SET_THIS}"`]
  assert.deepEqual(await placesIn([...form, ...sections]), [
    'addres',
    'stateDirectory',
    'plugins[0].with.odd',
  ])
  assert.deepEqual(await placesIn(sections), [
    'auth.oauth.providers[0].alowPrivateIP',
    'sources[0].file.watsh',
    'plugins[0].with.odd',
  ])
})

test('one mistake is one line', async (t) => {
  const unset = `\${env:NOBODY_SET_THIS}`
  const target = 'targetUri: https://mcp.example/mcp'
  const source = 'name: own, file: { path: a.json'
  for (const [text, places] of [
    [[`auth: { mode: anonymous }\nsources:\n  - { ${source} } }`, `  - { ${source}, watsh: 1 } }`], ['4:13']],
    [
      ['auht: {}', 'sources: [{ name: own, fiel: { path: a.json } }]', 'address: 1'],
      ['1:1', '2:24', '3:10'],
    ],
    // A registry may mean the one without a name.
    [
      [
        'auth: { mode: anonymous }',
        'sources: [{ nme: own, file: { path: a.json } }]',
        'registries: [{ name: all, sources: [own] }]',
      ],
      ['2:13'],
    ],
    [[target, `remoteAuthBearerToken: "${unset}"`], ['2:24']],
    [[target, 'remoteAuthBearerToken: "not one"'], ['2:24']],
    // Keys as flags: it is the file of a proxy all the same.
    [['target-uri: https://mcp.example/mcp'], ['1:1']],
  ] as const) {
    const { code, stderr } = await check(t, text.join('\n'))
    assert.equal(code, 2)
    assert.deepEqual(
      placesOf(stderr).map((place) => /\d+:\d+/.exec(place ?? '')?.[0]),
      places,
      stderr,
    )
  }
})

test('a misspelt type of provider, or the name of a product, gets a suggestion', async (t) => {
  for (const [types, meant] of [
    [
      ['keycloak', 'Okta'],
      ['use `oidc`', 'use `oidc`'],
    ],
    [
      ['oicd', 'kubernets', './mine.mjs'],
      ['did you mean "oidc"', 'did you mean "kubernetes"', 'no such file'],
    ],
  ] as const) {
    const written = types.map(
      (type, index) => `{ type: ${type}, name: n${index}, issuerUrl: 'https://idp.example', audience: x }`,
    )
    const { stderr } = await check(
      t,
      `auth: { oauth: { resourceUrl: https://a.example, providers: [${written}] } }`,
    )
    const lines = stderr.trim().split('\n')
    const reported = lines.map((line) => /did you mean "\w+"|use `oidc`|no such file/.exec(line)?.[0])
    assert.deepEqual(reported, meant, stderr)
  }
})

const OAUTH = ['auth:', '  oauth:']

for (const [mistake, text, expected] of [
  [
    'a missing audience does not hide a wrong URL',
    [
      ...OAUTH,
      '    resourceUrl: https://registry.example',
      '    providers:',
      '      - { name: a, issuerUrl: nonsense }',
    ],
    ['5:9 auth.oauth.providers[0].audience', '5:31 auth.oauth.providers[0].issuerUrl'],
  ],
  [
    'a missing resourceUrl hides no address',
    [...OAUTH, '    providers: [{ name: a }]', 'address: [x]'],
    ['3:5 auth.oauth.resourceUrl', '4:10 address'],
  ],
  [
    'a provider hides no source',
    [
      ...OAUTH,
      '    resourceUrl: https://registry.example',
      '    providers: [{ name: a, issuerUrl: https://idp.example }]',
      'sources: [{ name: own, file: { path: a.json, watsh: true } }]',
    ],
    ['4:17 auth.oauth.providers[0].audience', '5:53 sources[0].file.watsh'],
  ],
  [
    'an issuer on plain http is reported at its line, and so is the second',
    [
      ...OAUTH,
      '    resourceUrl: https://registry.example',
      '    providers:',
      '      - { name: a, issuerUrl: http://a.example, audience: x }',
      '      - { name: b, issuerUrl: http://b.example, jwksUrl: http://b.example/keys, audience: x }',
      '      - { name: c, issuerUrl: http://c.example, jwksUrl: https://c.example/keys, audience: x }',
    ],
    ['5:31 auth.oauth.providers[0].issuerUrl', '6:58 auth.oauth.providers[1].jwksUrl'],
  ],
  [
    'origins that no browser sends say what to write',
    [
      'auth: { mode: anonymous }',
      "allowedOrigins: ['https://app.example.com/', '*', app, 'https://app.example.com']",
    ],
    ['2:18 allowedOrigins[0]', '2:46 allowedOrigins[1]', '2:51 allowedOrigins[2]'],
  ],
  [
    'a registry may name sources that have mistakes of their own, and no others',
    [
      'auth: { mode: anonymous }',
      'sources:',
      '  - { name: own, file: { path: a.json }, http: { url: https://r.example } }',
      '  - { name: own, file: { path: b.json } }',
      '  - { name: team, fil: { path: c.json } }',
      'registries: [{ name: default, sources: [own, team, taem, another] }]',
    ],
    [
      '3:5 sources[0]',
      '4:13 sources[1].name',
      '5:19 sources[2].fil',
      '6:52 registries[0].sources[2]',
      '6:58 registries[0].sources[3]',
    ],
  ],
  [
    'a source that is a path is one mistake',
    [
      'auth: { mode: anonymous }',
      'sources: [{ name: own, file: /a.json }]',
      'registries: [{ name: a, sources: [own] }]',
    ],
    ['2:30 sources[0].file'],
  ],
] as const)
  test(`all problems at once: ${mistake}`, async (t) => {
    const { code, stderr } = await check(t, text.join('\n'))
    assert.equal(code, 2)
    assert.deepEqual(
      placesOf(stderr),
      expected.map((place) => `config.yaml:${place}`),
      stderr,
    )
  })

test('a missing capability is found without a boot', async (t) => {
  const { code, stderr } = await check(t, '- use: registry/api\n')
  assert.equal(code, 2)
  assert.match(stderr, /registry\/api/)
})

test('a missing plugin and a repeated plugin are named at their place in the file', async (t) => {
  const oauth = ['resourceUrl: https://registry.example', 'providers:']
  const { code, stderr } = await check(
    t,
    [
      'auth:',
      '  oauth:',
      ...oauth.map((line) => `    ${line}`),
      '      - { name: a, type: ./absent-auth.js }',
      'sources: [{ name: own, use: ./absent-source.js }]',
      'plugins:',
      '  - { use: ./absent.js, before: http/cors }',
      '  - use: guard/host',
      '    with: { allowed: [] }',
      '  - { use: internal/metrics }',
    ].join('\n'),
  )
  assert.equal(code, 2)
  assert.deepEqual(
    placesOf(stderr).map((place) => place?.replace(/:$/, '')),
    [
      'config.yaml:5:26 auth.oauth.providers[0].type',
      'config.yaml:6:29 sources[0].use',
      'config.yaml:8:12 plugins[0].use',
      'config.yaml:9:10 plugins[1].use',
      'config.yaml:11:12 plugins[2].use',
    ],
    stderr,
  )
})

test('a missing file ends with 2', async (t) => {
  const checking = program(t, ['check', '--config', join(folder(t, {}), 'absent.yaml')])
  assert.equal(await checking.ended(), 2)
})

test('a valid setting that is probably a mistake is a warning at its place, and the exit code stays 0', async (t) => {
  const mine = `import { definePlugin } from 'sallyport'
    const jsonSchema = { input: () => ({ type: 'object', properties: { rules: { type: 'array' } } }) }
    const schema = { '~standard': { version: 1, vendor: 'mine', validate: (value) => ({ value }), jsonSchema } }
    export default definePlugin({ name: 'mine', api: 1, options: schema, setup() {},
      warnings: () => [{ place: 'rules[1]', message: 'it never applies', suggestion: 'read' }] })`
  const text = '- use: ./mine.mjs\n  with:\n    rules:\n      - write\n      - raed\n'
  const { code, stdout, stderr } = await check(t, text, { 'mine.mjs': mine })

  assert.equal(code, 0, stderr)
  assert.match(
    stderr,
    /^warning: \S*config\.yaml:5:9 .*rules\[1\] \(mine\): it never applies \(did you mean "read"\?\)\n$/,
  )
  assert.match(stdout, /plugins: 1/)
})
