import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '../../kit/folder.js'
import { booted, listening } from '../../kit/index.js'
import { BASE, idsIn, inside, registryOf, server } from '../registry/registry.js'

const sync = { method: 'POST', url: '/internal/sync/repo' } as const

function repository(t: TestContext) {
  const root = folder(t)
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: root,
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.com',
    GIT_COMMITTER_DATE: '2024-03-04T05:06:07Z',
  }
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, env, encoding: 'utf8' })
  git('init', '--quiet', '--initial-branch=main', '.')
  return {
    root,
    git,
    commit(files: Readonly<Record<string, string>>): string {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(root, path)), { recursive: true })
        writeFileSync(join(root, path), text)
      }
      git('add', '--all')
      git('commit', '--quiet', '--message=x')
      return git('rev-parse', 'HEAD').trim()
    },
  }
}

const reading = (t: TestContext, url: string, more: object = {}, options: object = {}) =>
  booted(t, [
    ...registryOf([{ use: 'source/git', with: { name: 'repo', url, ...more } }], ['repo'], options),
    { use: inside },
  ])

const doc = (name: string, more: object = {}): string =>
  JSON.stringify(server(`a.example/${name}`, '1.0.0', more))
/** Temporary files of this test go to a folder of their own; what is in it can be seen. */
function temporary(t: TestContext): () => string[] {
  const own = folder(t)
  const { TMPDIR } = process.env
  process.env['TMPDIR'] = own
  t.after(() => {
    if (TMPDIR === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = TMPDIR
  })
  return () => readdirSync(own).filter((name) => name.startsWith('sallyport-git-'))
}

test('the files of a folder are read, and again when there is another commit', async (t) => {
  const left = temporary(t)
  const { root, commit } = repository(t)
  commit({
    'servers/one.json': doc('one', { x: 1 }).replace('"x":1', '"x":1.0'),
    'servers/deep/two.yaml': 'name: a.example/two\nversion: "1.0.0"\ndescription: two\n',
    'servers/README.md': 'not a server',
    'other/three.json': doc('three'),
  })
  const app = await reading(t, root, { path: 'servers' })
  const first = await app.inject(BASE)
  assert.deepEqual(idsIn(first.json()), ['a.example/one@1.0.0', 'a.example/two@1.0.0'])
  assert.match(first.body, /"x":1\.0/)
  assert.match(first.body, /"publishedAt":"2024-03-04T05:06:07.000Z"/)
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

test('a branch, a tag and a commit; one file', async (t) => {
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
    const app = await reading(t, `file://${root}`, { ref, path: 'list.json' })
    assert.deepEqual(idsIn((await app.inject(BASE)).json()), [`a.example/${name}@1.0.0`], ref)
  }
})

test('a commit with a file that cannot be read is not taken, and the file is named', async (t) => {
  const { root, commit } = repository(t)
  commit({ 'one.json': doc('one') })
  const app = await reading(t, root)
  commit({ 'one.json': doc('two'), 'broken.json': '{' })
  const answer = await app.inject(sync)
  assert.equal(answer.statusCode, 502)
  assert.match(answer.json().error_description, /broken\.json/)
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'])
})

test('a symbolic link in a repository leads nowhere', async (t) => {
  const { root, commit } = repository(t)
  const secret = join(folder(t), 'secret.json')
  writeFileSync(secret, doc('secret'))
  symlinkSync(secret, join(root, 'link.json'))
  commit({ 'one.json': doc('one') })
  const app = await reading(t, root)
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'])
})

test('a place that would be an option or a command is refused at the start, and nothing runs', async (t) => {
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
      reading(t, url),
      (error: Error) => {
        assert.doesNotMatch(error.message, /secret@/)
        return /url/.test(error.message)
      },
      url,
    )
  }
  for (const more of [{ ref: '--upload-pack=x' }, { ref: 'a..b' }, { path: '../x' }, { path: '/etc' }]) {
    await assert.rejects(reading(t, '/nowhere', more))
  }
  assert.ok(!existsSync(canary))
})

test('a place that is not there, a branch that is not, a path without files: each says so', async (t) => {
  const { root, commit } = repository(t)
  commit({ 'README.md': 'x' })
  const wrong: [string, object, RegExp][] = [
    [join(root, 'nothing'), {}, /ls-remote/],
    [root, { ref: 'nope' }, /no "nope"/],
    [root, { path: 'servers' }, /nothing to read at "servers"/],
  ]
  for (const [url, more, reason] of wrong) {
    const app = await reading(t, url, more)
    assert.match((await app.inject(sync)).json().error_description, reason)
  }
})

test('nobody is asked for a password, and the token goes in a header that no argument shows', async (t) => {
  const seen: (string | undefined)[] = []
  const url = await listening(t, ({ headers }, response) => {
    seen.push(headers.authorization)
    response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
  })
  const plain = await reading(t, `${url}/x.git`)
  assert.equal((await plain.inject(BASE)).statusCode, 503)
  const tokenFile = join(folder(t), 'token')
  writeFileSync(tokenFile, 'git-token\n', { mode: 0o600 })
  await reading(t, `${url}/x.git`, { tokenFile })
  assert.ok(seen.includes(`Basic ${Buffer.from('x-access-token:git-token').toString('base64')}`))
})

test('a server that says nothing is left after its time, with all its processes', async (t) => {
  const left = temporary(t)
  const url = await listening(t, () => {})
  const app = await reading(t, `${url}/hangs.git`, { timeout: '400ms' })
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
