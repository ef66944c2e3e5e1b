import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Finding } from '#cli/tools/findings/finding-list.js'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'
import { repository } from '../../../plugins/source/repository.js'

/** What doctor finds in a registry with these sources. */
async function examined(t: TestContext, home: string, sources: object) {
  const config = { auth: { mode: 'anonymous' }, sources }
  const place = join(folder(t, { 'registry.json': JSON.stringify(config) }), 'registry.json')
  const running = program(t, ['doctor', '--config', place, '--json'])
  const code = await running.ended()
  const found: readonly Finding[] = JSON.parse(running.output.stdout)
  const lines = found.map(({ state, about, check }) => `${state} ${about} ${check.replace(`${home}/`, '')}`)
  return { code, found, lines }
}

const good = (name: string, more: object = {}) => ({
  name: `com.example/${name}`,
  description: 'd',
  version: '1.0.0',
  ...more,
})

test('the documents of a file are counted, and refused ones are named with line and column', async (t) => {
  const remotes = [{ type: 'streamable-http', url: 'not a URL' }]
  const home = folder(t, {
    'all.json': JSON.stringify([good('a'), good('b')]),
    'some.json': JSON.stringify(
      { servers: [{ server: good('a') }, { server: good('b', { remotes }) }] },
      null,
      2,
    ),
    'one.json': `\n  {"name": "x"}`,
  })
  const file = (name: string) => ({ name, file: { path: join(home, `${name}.json`) } })
  const { code, found, lines } = await examined(t, home, ['all', 'some', 'one'].map(file))
  assert.deepEqual(lines, [
    'ok source:all documents',
    'warning source:some documents',
    'warning source:some some.json:18:20',
    'wrong source:one documents',
    'wrong source:one one.json:2:12',
  ])
  assert.equal(code, 1)
  assert.match(found[0]?.detail ?? '', /: 2 documents read, 0 refused$/)
  assert.match(found[1]?.detail ?? '', /: 2 documents read, 1 refused$/)
  assert.match(found[2]?.detail ?? '', /^com\.example\/b@1\.0\.0: remotes\.0\.url/)
})

test('refused documents alone are a warning, and the first few are listed', async (t) => {
  const home = folder(t, {
    'a/good.yaml': 'name: com.example/a\ndescription: d\nversion: 1.0.0\n',
    'a/bad.yaml': '- name: com.example/b\n  description: d\n  version: latest\n- name: none\n',
    'a/cut.json': '[{"name":',
    'a/many.json': JSON.stringify(Array.from({ length: 9 }, () => ({}))),
  })
  const { code, found, lines } = await examined(t, home, [{ name: 'own', file: { path: join(home, 'a') } }])
  assert.equal(code, 0)
  assert.match(found[0]?.detail ?? '', /: 13 documents read, 12 refused$/)
  assert.deepEqual(lines, [
    'warning source:own documents',
    'warning source:own a/cut.json',
    'warning source:own a/bad.yaml:3:12',
    'warning source:own a/bad.yaml:4:9',
    'warning source:own a/many.json:1:2',
    'warning source:own a/many.json:1:5',
  ])
})

test('the documents of a git repository are read with git', async (t) => {
  const repo = repository(t)
  repo.commit({ 'servers/a.json': JSON.stringify(good('a')), 'servers/b.yaml': 'a: b\nname: 7\n' })
  const git = (path: string) => ({ name: path, git: { url: `file://${repo.root}`, path } })
  const { code, found, lines } = await examined(t, repo.root, ['servers', 'none'].map(git))
  assert.equal(code, 1)
  assert.deepEqual(lines, [
    'warning source:servers documents',
    'warning source:servers servers/b.yaml:2:7',
    'wrong source:none documents',
  ])
  assert.match(found[0]?.detail ?? '', /: 2 documents read, 1 refused$/)
  assert.deepEqual([found[1]?.code, found[2]?.code], ['DOCUMENT_REFUSED', 'GIT_PATH_EMPTY'])
})
