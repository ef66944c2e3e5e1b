import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { booted, listening } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { variables } from '#kit/variables.js'
import {
  BASE,
  idsIn,
  internalRoutes,
  type RegistryOptions,
  registryOf,
  server,
} from '../registry/registry.js'
import { repository } from './repository.js'

const sync = { method: 'POST', url: '/internal/sync/repo' } as const

const registryOver = (t: TestContext, url: string, more: object = {}, options: RegistryOptions = {}) =>
  booted(t, [
    ...registryOf([{ use: 'source/git', with: { name: 'repo', url, ...more } }], ['repo'], options),
    internalRoutes,
  ])

const doc = (name: string, more: object = {}): string =>
  JSON.stringify(server(`a.example/${name}`, '1.0.0', more))

/** Gives this test its own folder for temporary files; lists what git left in it. */
function temporary(t: TestContext): () => string[] {
  const own = folder(t)
  variables(t, { TMPDIR: own })
  return () => readdirSync(own).filter((name) => name.startsWith('sallyport-git-'))
}

test('the files of a folder are read, and again after a new commit', async (t) => {
  const left = temporary(t)
  const { root, commit } = repository(t)
  commit({
    'servers/one.json': doc('one', { x: 1 }).replace('"x":1', '"x":1.0'),
    'servers/deep/two.yaml': 'name: a.example/two\nversion: "1.0.0"\ndescription: two\n',
    'servers/README.md': 'not a server',
    'other/three.json': doc('three'),
  })
  const app = await registryOver(t, root, { path: 'servers' })
  const first = await app.inject(BASE)
  assert.deepEqual(idsIn(first.json()), ['a.example/one@1.0.0', 'a.example/two@1.0.0'])
  assert.match(first.body, /"x":1\.0/)
  assert.match(first.body, /"publishedAt":"1970-01-01T00:00:00.000Z"/)
  assert.equal((await app.inject(sync)).json().outcome, 'unchanged')

  commit({ 'servers/one.json': `[${doc('one')},${doc('four')}]` })
  assert.equal((await app.inject(sync)).json().outcome, 'changed')
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), [
    'a.example/four@1.0.0',
    'a.example/one@1.0.0',
    'a.example/two@1.0.0',
  ])
  assert.deepEqual(left(), [])
})

test('a ref is a branch, a tag or a commit, and a path may be one file', async (t) => {
  const { root, git, commit } = repository(t)
  const first = commit({ 'list.json': `[${doc('one')}]` })
  git('tag', 'v1')
  git('checkout', '--quiet', '-b', 'next')
  commit({ 'list.json': `[${doc('two')}]` })
  git('config', 'uploadpack.allowReachableSHA1InWant', 'true')
  for (const [ref, name] of [
    ['main', 'one'],
    ['v1', 'one'],
    ['next', 'two'],
    [first, 'one'],
  ] as const) {
    const app = await registryOver(t, `file://${root}`, { ref, path: 'list.json' })
    assert.deepEqual(idsIn((await app.inject(BASE)).json()), [`a.example/${name}@1.0.0`], ref)
  }
})

test('a malformed file of a commit is named and keeps its documents, and the source reads the others', async (t) => {
  const { root, commit } = repository(t)
  commit({ 'one.json': doc('one') })
  const app = await registryOver(t, root)
  commit({ 'one.json': doc('two'), 'broken.json': '{' })
  assert.equal((await app.inject(sync)).json().refused, 1)
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/two@1.0.0'])
  const { checks } = (await app.inject('/internal/readiness')).json()
  assert.match(checks['source repo'].reason, /broken\.json: not JSON at line 1, column 2/)

  commit({ 'one.json': '{', 'broken.json': doc('three') })
  assert.equal((await app.inject(sync)).json().refused, 1)
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/three@1.0.0', 'a.example/two@1.0.0'])
  commit({ 'broken.json': '[' })
  const answer = await app.inject(sync)
  assert.equal(answer.statusCode, 502)
  assert.match(answer.json().error_description, /broken\.json/)
})

test('a symbolic link in a repository is not followed', async (t) => {
  const { root, commit } = repository(t)
  const secret = join(folder(t), 'secret.json')
  writeFileSync(secret, doc('secret'))
  symlinkSync(secret, join(root, 'link.json'))
  commit({ 'one.json': doc('one') })
  const app = await registryOver(t, root)
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'])
})

test('a URL that would be an option or a command is refused at the start, and nothing runs', async (t) => {
  const canary = join(folder(t), 'canary')
  const urls = [
    `--upload-pack=touch ${canary}`,
    `-u${canary}`,
    `ext::sh -c "touch ${canary}"`,
    `ext::touch%20${canary}`,
    `fd::17`,
    `ssh://-oProxyCommand=touch${canary}/x`,
    `ssh://user@-oProxyCommand=x/x`,
    '-oProxyCommand=x@host:path',
    '-o@host:path',
    'user@-o:path',
    'https://user:secret@git.example.com/x.git',
    'http://git.example.com/x.git',
    'git://git.example.com/x.git',
    'relative/path',
  ]
  for (const url of urls) {
    await assert.rejects(
      registryOver(t, url),
      (error: Error) => {
        assert.doesNotMatch(error.message, /secret@/)
        return /url/.test(error.message)
      },
      url,
    )
  }
  for (const more of [{ ref: '--upload-pack=x' }, { ref: 'a..b' }, { path: '../x' }, { path: '/etc' }]) {
    await assert.rejects(registryOver(t, '/nowhere', more))
  }
  assert.ok(!existsSync(canary))
})

test('a missing repository, a missing branch and a path without files each have their error', async (t) => {
  const { root, commit } = repository(t)
  commit({ 'README.md': 'x' })
  const wrong: [string, object, RegExp][] = [
    [join(root, 'nothing'), {}, /ls-remote/],
    [root, { ref: 'nope' }, /no "nope"/],
    [root, { path: 'servers' }, /no file at "servers"/],
  ]
  for (const [url, more, reason] of wrong) {
    const app = await registryOver(t, url, more)
    assert.match((await app.inject(sync)).json().error_description, reason)
  }
})

test('git never prompts for a password, and the token is in no argument', async (t) => {
  const seen: (string | undefined)[] = []
  const url = await listening(t, ({ headers }, response) => {
    seen.push(headers.authorization)
    response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
  })
  const plain = await registryOver(t, `${url}/x.git`)
  assert.equal((await plain.inject(BASE)).statusCode, 503)
  const tokenFile = join(folder(t), 'token')
  writeFileSync(tokenFile, 'git-token\n', { mode: 0o600 })
  await registryOver(t, `${url}/x.git`, { tokenFile })
  assert.ok(seen.includes(`Basic ${Buffer.from('x-access-token:git-token').toString('base64')}`))
})

test('a server that does not respond is a timeout, and all processes end', async (t) => {
  const left = temporary(t)
  const url = await listening(t, () => {})
  const app = await registryOver(t, `${url}/hangs.git`, { timeout: '400ms' })
  assert.match((await app.inject(sync)).json().error_description, /did not finish within 0\.4 s/)
  const commands = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((id) => {
      try {
        return readFileSync(`/proc/${id}/cmdline`, 'utf8')
      } catch {
        return ''
      }
    })
  assert.ok(commands.every((command) => !command.includes(`${url}/hangs.git`)))
  assert.deepEqual(left(), [])
})
