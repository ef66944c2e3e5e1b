import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Booted } from 'sallyport'
import { eventually } from '../../kit/captured-log.js'
import { folder } from '../../kit/folder.js'
import { booted } from '../../kit/index.js'
import { BASE, idsIn, inside, registryOf, server } from '../registry/registry.js'

const list = (...names: string[]): string =>
  JSON.stringify(names.map((name) => server(`a.example/${name}`, '1.0.0')))

const over = (t: TestContext, path: string) =>
  booted(t, [...registryOf([{ use: 'source/file', with: { name: 'own', path } }], ['own']), { use: inside }])

async function shows(app: Booted['app'], ...names: string[]): Promise<void> {
  const wanted = names.map((name) => `a.example/${name}@1.0.0`).join()
  await eventually(async () => {
    const response = await app.inject(BASE)
    return response.statusCode === 200 && idsIn(response.json()).join() === wanted ? true : undefined
  })
}

test('a change is seen: written in place, renamed over, and swapped behind a link', async (t) => {
  const root = folder(t, { 'servers.json': list('a') })
  const path = join(root, 'servers.json')
  const app = await over(t, path)
  await shows(app, 'a')

  writeFileSync(path, list('a', 'b'))
  await shows(app, 'a', 'b')
  writeFileSync(join(root, 'next'), list('c'))
  renameSync(join(root, 'next'), path)
  await shows(app, 'c')
})

test('a change behind a link of links is seen, as Kubernetes makes it', async (t) => {
  const root = folder(t)
  for (const [version, names] of [['v1', list('a')] as const, ['v2', list('b')] as const]) {
    mkdirSync(join(root, version))
    writeFileSync(join(root, version, 'servers.json'), names)
  }
  symlinkSync('v1', join(root, 'data'))
  symlinkSync(join('data', 'servers.json'), join(root, 'servers.json'))
  const app = await over(t, join(root, 'servers.json'))
  await shows(app, 'a')

  symlinkSync('v2', join(root, 'data-next'))
  renameSync(join(root, 'data-next'), join(root, 'data'))
  await shows(app, 'b')
})

test('a file that breaks or vanishes keeps what it had, and is read when it is back', async (t) => {
  const root = folder(t, { 'servers.json': list('a') })
  const path = join(root, 'servers.json')
  const app = await over(t, path)
  const degraded = () =>
    eventually(async () => {
      const { checks = {} } = (await app.inject('/internal/readiness')).json()
      return checks['source own']?.status === 'degraded' ? String(checks['source own'].reason) : undefined
    })

  writeFileSync(path, '[{"name":')
  assert.match(await degraded(), /not JSON/)
  await shows(app, 'a')
  writeFileSync(path, list('b'))
  await shows(app, 'b')
  rmSync(path)
  assert.match(await degraded(), /ENOENT/)
  await shows(app, 'b')
  writeFileSync(path, list('c'))
  await shows(app, 'c')
})

test('a file that is missing at the start leaves the registry not ready, until it is there', async (t) => {
  const path = join(folder(t), 'later', 'servers.json')
  const app = await over(t, path)
  assert.equal((await app.inject(BASE)).statusCode, 503)
  assert.equal((await app.inject('/internal/readiness')).statusCode, 503)
  mkdirSync(join(path, '..'))
  writeFileSync(path, list('a'))
  await shows(app, 'a')
})

test('all JSON and YAML files of a folder are read, and each change in it is seen', async (t) => {
  const one = (name: string): string => JSON.stringify(server(`a.example/${name}`, '1.0.0'))
  const root = folder(t, { 'b.yaml': 'name: a.example/b\nversion: 1.0.0\ndescription: second\n' })
  writeFileSync(join(root, 'a.json'), one('a'))
  writeFileSync(join(root, 'README.md'), '# not a server')
  mkdirSync(join(root, 'old.json'))
  const app = await over(t, root)
  await shows(app, 'a', 'b')

  writeFileSync(join(root, 'c.json'), list('c', 'd'))
  await shows(app, 'a', 'b', 'c', 'd')
  rmSync(join(root, 'b.yaml'))
  await shows(app, 'a', 'c', 'd')
  writeFileSync(join(root, 'a.json'), one('e'))
  await shows(app, 'c', 'd', 'e')
})

test('a broken file of a folder is named, and the folder keeps what it had', async (t) => {
  const root = folder(t, { 'a.json': list('a') })
  const app = await over(t, root)
  await shows(app, 'a')
  const reason = (text: RegExp) =>
    eventually(async () => {
      const { checks = {} } = (await app.inject('/internal/readiness')).json()
      return text.test(String(checks['source own']?.reason)) ? true : undefined
    })

  writeFileSync(join(root, 'b.json'), '{"name":')
  await reason(/b\.json is neither JSON nor YAML/)
  await shows(app, 'a')
  rmSync(join(root, 'a.json'))
  rmSync(join(root, 'b.json'))
  await reason(/FILE_UNREADABLE|no JSON or YAML file/)
  await shows(app, 'a')
})
