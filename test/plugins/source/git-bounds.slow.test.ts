import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { booted, listening } from 'sallyport/testing'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listen } from '#kit/plugin.js'
import { startedProgram } from '#kit/started-program.js'
import { variables } from '#kit/variables.js'
import { BASE, idsIn, internalRoutes, registryOf, server } from '../registry/registry.js'
import { repository } from './repository.js'

const sync = { method: 'POST', url: '/internal/sync/repo' } as const

const entries = (url: string, more: object = {}) =>
  registryOf([{ use: 'source/git', with: { name: 'repo', url, ...more } }], ['repo'])

// The loader of TypeScript has a cache there too.
const bytesIn = (path: string): number =>
  readdirSync(path, { withFileTypes: true }).reduce((sum, entry) => {
    if (entry.name.startsWith('tsx-')) return sum
    const inner = join(path, entry.name)
    try {
      return sum + (entry.isDirectory() ? bytesIn(inner) : statSync(inner).size)
    } catch {
      return sum
    }
  }, 0)

const running = (word: string): number =>
  readdirSync('/proc').filter((id) => {
    if (!/^\d+$/.test(id) || Number(id) === process.pid) return false
    try {
      return readFileSync(`/proc/${id}/cmdline`, 'utf8').includes(word)
    } catch {
      return false
    }
  }).length

const document = JSON.stringify(server('a.example/one', '1.0.0'))

for (const files of [1, 40]) {
  test(`the size on disk of a large repository of ${files} files is limited`, async (t) => {
    const { root, commit } = repository(t)
    const large = Object.fromEntries(
      Array.from({ length: files }, (_, at) => [
        `large-${at}`,
        randomBytes(20_000_000 / files).toString('base64'),
      ]),
    )
    commit({ 'list.json': document, ...large })
    const temporary = folder(t)
    variables(t, { TMPDIR: temporary })
    let most = 0
    const sample = setInterval(() => {
      most = Math.max(most, bytesIn(temporary))
    }, 1)
    t.after(() => clearInterval(sample))

    const app = await booted(t, [
      ...entries(`file://${root}`, { path: 'list.json', maxBytes: 100_000 }),
      internalRoutes,
    ])
    const answer = await app.inject(sync)
    assert.match(answer.json().error_description, /more than \d+ bytes/)
    assert.ok(most > 0 && most < 1_000_000, `${most} bytes`)
    assert.equal(bytesIn(temporary), 0)
  })
}

test('a repository within its limit is read by path, and one with too large files is not', async (t) => {
  const { root, commit } = repository(t)
  commit({ 'list.json': document, 'zeros.json': '0'.repeat(2_000_000) })
  const app = await booted(t, [...entries(root, { path: 'list.json', maxBytes: 1_000_000 }), internalRoutes])
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'])
  const whole = await booted(t, [...entries(root, { maxBytes: 1_000_000 }), internalRoutes])
  assert.match((await whole.inject(sync)).json().error_description, /have more than 1000000 bytes/)
})

test('kill -9 of the gateway ends git with all its processes, and its folder is removed', async (t) => {
  const temporary = folder(t)
  let asked = false
  const url = await listening(t, () => {
    asked = true
  })
  const config = join(folder(t), 'sallyport.json')
  const list = [listen, ...entries(`${url}/hangs.git`)]
  writeFileSync(config, JSON.stringify({ plugins: list }))
  const gateway = startedProgram(t, ['run', `--config=${config}`], {
    environment: { TMPDIR: temporary },
    patience: 60,
  })
  await eventually(() => asked && running(`${url}/hangs.git`) > 0, 60)
  assert.equal(readdirSync(temporary).filter((name) => name.startsWith('sallyport-git-')).length, 1)

  gateway.process.kill('SIGKILL')
  await gateway.ended()
  await eventually(() => running(`${url}/hangs.git`) === 0)
  await eventually(() => readdirSync(temporary).every((name) => !name.startsWith('sallyport-git-')))
})

test('an abandoned folder is removed, and one that another gateway uses is not', async (t) => {
  const { root, commit } = repository(t)
  commit({ 'list.json': document })
  const temporary = folder(t)
  variables(t, { TMPDIR: temporary })
  const names = [Date.now() - 1_000, Date.now() + 60_000].map(
    (until) => `sallyport-git-${until.toString(36)}-abcdef`,
  )
  for (const name of names) mkdirSync(join(temporary, name))
  writeFileSync(join(temporary, names[0] ?? '', 'pack'), 'x')
  await booted(t, entries(root))
  const left = (): readonly string[] => readdirSync(temporary).filter((name) => names.includes(name))
  await eventually(() => left().length < 2)
  assert.deepEqual(left(), [names[1]])
})

test('git gets only the variables that it needs, and no secret', async (t) => {
  const bin = folder(t)
  const seen = join(bin, 'seen')
  writeFileSync(join(bin, 'git'), `#!/bin/sh\nenv >> ${seen}\nexit 1\n`)
  chmodSync(join(bin, 'git'), 0o755)
  variables(t, { PATH: `${bin}:${process.env['PATH']}` })
  variables(t, { CLOUD_SECRET_KEY: 'canary', GIT_DIR: '/canary', SALLYPORT_X: 'canary' })
  variables(t, { https_proxy: 'http://proxy.example.com:1' })
  await booted(t, entries('https://git.example.com/x.git'))
  const environment = readFileSync(seen, 'utf8')
  assert.match(environment, /^https_proxy=http:\/\/proxy\.example\.com:1$/m)
  assert.match(environment, /^GIT_TERMINAL_PROMPT=0$/m)
  assert.doesNotMatch(environment, /canary/)
})

test('an endless list of files is not kept in memory', async (t) => {
  const bin = folder(t)
  writeFileSync(join(bin, 'git'), '#!/bin/sh\nexec cat /dev/zero\n')
  chmodSync(join(bin, 'git'), 0o755)
  variables(t, { PATH: `${bin}:${process.env['PATH']}` })
  const app = await booted(t, [...entries('https://git.example.com/x.git'), internalRoutes])
  const answer = await app.inject(sync)
  assert.match(answer.json().error_description, /git ls-remote printed more than \d+ bytes/)
})
