import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '../../kit/folder.js'
import { program } from '../../kit/program.js'

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

test('a list of plugins is checked as `run` would, scopes and plugins of strangers among them', async (t) => {
  const mine = `export default { name: 'mine', api: 1, setup() { throw new Error('set up') } }`
  const text = '- use: ./mine.mjs\n- scope: /a\n  plugins:\n    - use: auth/anonymous\n'
  const { code, stdout, stderr } = await check(t, text, { 'mine.mjs': mine })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /plugins: 2\n$/)
})

test('what is wrong with the form, the settings and the plugins is told at once, in the order of the file', async (t) => {
  const { code, stderr, stdout } = await check(
    t,
    [
      'addres: 127.0.0.1:80',
      'auth:',
      '  oauth:',
      '    resourceUrl: https://registry.example',
      '    providers: [{ name: corp, issuerUrl: https://idp.example, audience: x, alowPrivateIP: true }]',
      'sources:',
      `  - { name: own, file: { path: "\${env:NOBODY_SET_THIS}" } }`,
      '  - { name: other, file: { path: a.json, watsh: true } }',
      'plugins: [{ use: auth/anonymous, with: { odd: true } }]',
    ].join('\n'),
  )
  assert.equal(code, 2)
  assert.equal(stdout, '')
  const places = placesOf(stderr)
  assert.deepEqual(
    places.map((place) => place?.split(' ')[1]?.replace(/:$/, '')),
    [
      'addres',
      'auth.oauth.providers[0].alowPrivateIP',
      'sources[0].file.path',
      'sources[1].file.watsh',
      'plugins[0].with.odd',
    ],
    stderr,
  )
})

test('a need that nobody meets is found without a boot', async (t) => {
  const { code, stderr } = await check(t, '- use: registry/api\n')
  assert.equal(code, 2)
  assert.match(stderr, /registry\/api/)
})

test('a plugin that is not there, and one that is there twice, are named where the file names them', async (t) => {
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

test('a file that is not there ends with 2', async (t) => {
  const checking = program(t, ['check', '--config', join(folder(t, {}), 'absent.yaml')])
  assert.equal(await checking.ended(), 2)
})
