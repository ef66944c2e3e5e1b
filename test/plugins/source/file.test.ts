import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { GatewayInstance } from 'sallyport/embed'
import { booted, contractSuite } from 'sallyport/testing'
import { recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { BASE, idsIn, internalRoutes, registryOf, server } from '../registry/registry.js'

const list = (...names: string[]): string =>
  JSON.stringify(names.map((name) => server(`a.example/${name}`, '1.0.0')))

const registryOver = (t: TestContext, path: string) =>
  booted(t, [...registryOf([{ use: 'source/file', with: { name: 'own', path } }], ['own']), internalRoutes])

async function shows(app: GatewayInstance['app'], ...names: string[]): Promise<void> {
  const wanted = names.map((name) => `a.example/${name}@1.0.0`).join()
  await eventually(async () => {
    const response = await app.inject(BASE)
    return response.statusCode === 200 && idsIn(response.json()).join() === wanted ? true : undefined
  })
}

test('a change is noticed: a file written in place, and one replaced by a rename', async (t) => {
  const root = folder(t, { 'servers.json': list('a') })
  const path = join(root, 'servers.json')
  const app = await registryOver(t, path)
  await shows(app, 'a')

  writeFileSync(path, list('a', 'b'))
  await shows(app, 'a', 'b')
  writeFileSync(join(root, 'next'), list('c'))
  renameSync(join(root, 'next'), path)
  await shows(app, 'c')
})

test('a change behind nested symbolic links is noticed, as Kubernetes makes it', async (t) => {
  const root = folder(t)
  for (const [version, names] of [['v1', list('a')] as const, ['v2', list('b')] as const]) {
    mkdirSync(join(root, version))
    writeFileSync(join(root, version, 'servers.json'), names)
  }
  symlinkSync('v1', join(root, 'data'))
  symlinkSync(join('data', 'servers.json'), join(root, 'servers.json'))
  const app = await registryOver(t, join(root, 'servers.json'))
  await shows(app, 'a')

  symlinkSync('v2', join(root, 'data-next'))
  renameSync(join(root, 'data-next'), join(root, 'data'))
  await shows(app, 'b')
})

test('a malformed or missing file leaves the contents as they were, until it can be read again', async (t) => {
  const root = folder(t, { 'servers.json': list('a') })
  const path = join(root, 'servers.json')
  const app = await registryOver(t, path)
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

test('with a missing file the registry is not ready, until the file exists', async (t) => {
  const path = join(folder(t), 'later', 'servers.json')
  const app = await registryOver(t, path)
  assert.equal((await app.inject(BASE)).statusCode, 503)
  assert.equal((await app.inject('/internal/readiness')).statusCode, 503)
  mkdirSync(join(path, '..'))
  writeFileSync(path, list('a'))
  await shows(app, 'a')
})

test('the source does not wait for a pipe instead of a file', {
  skip: process.platform === 'win32',
}, async (t) => {
  const root = folder(t, { 'servers.json': list('a') })
  const path = join(root, 'servers.json')
  const { log, lines } = recordedLog()
  const app = await booted(
    t,
    [...registryOf([{ use: 'source/file', with: { name: 'own', path } }], ['own']), internalRoutes],
    { log },
  )
  await shows(app, 'a')

  rmSync(path)
  spawnSync('mkfifo', [path])
  await eventually(() => lines.find((line) => /no file \(ERR_NO_FILE\)/.test(JSON.stringify(line))))
  writeFileSync(join(root, 'next'), list('b'))
  renameSync(join(root, 'next'), path)
  await shows(app, 'b')
})

test('all JSON and YAML files of a folder are read, and each change in it is noticed', async (t) => {
  const one = (name: string): string => JSON.stringify(server(`a.example/${name}`, '1.0.0'))
  const root = folder(t, { 'b.yaml': 'name: a.example/b\nversion: 1.0.0\ndescription: second\n' })
  writeFileSync(join(root, 'a.json'), one('a'))
  writeFileSync(join(root, 'README.md'), '# not a server')
  mkdirSync(join(root, 'old.json'))
  const app = await registryOver(t, root)
  await shows(app, 'a', 'b')

  writeFileSync(join(root, 'c.json'), list('c', 'd'))
  await shows(app, 'a', 'b', 'c', 'd')
  rmSync(join(root, 'b.yaml'))
  await shows(app, 'a', 'c', 'd')
  writeFileSync(join(root, 'a.json'), one('e'))
  await shows(app, 'c', 'd', 'e')
})

/** What readiness says about the source. */
const reasonOf = (app: GatewayInstance['app'], text: RegExp) =>
  eventually(async () => {
    const { checks = {} } = (await app.inject('/internal/readiness')).json()
    const reason = String(checks['source own']?.reason)
    return text.test(reason) ? reason : undefined
  })

test('a malformed file of a folder keeps its last documents, and the other files are read', async (t) => {
  const root = folder(t, { 'a.json': list('a', 'b'), 'b.json': list('c', 'd'), 'c.yaml': list('e') })
  const app = await registryOver(t, root)
  await shows(app, 'a', 'b', 'c', 'd', 'e')

  writeFileSync(join(root, 'b.json'), `[\n  {"name": "é",, "version": 1}\n]`)
  writeFileSync(join(root, 'a.json'), list('a', 'f'))
  await shows(app, 'a', 'c', 'd', 'e', 'f')
  await reasonOf(app, /1 document was refused; \S+b\.json: not JSON at line 2, column 16/)
  writeFileSync(join(root, 'c.yaml'), 'name: a.example/e\nversion: [\n')
  await reasonOf(app, /2 documents were refused/)
  await shows(app, 'a', 'c', 'd', 'e', 'f')
  writeFileSync(join(root, 'new.json'), '{')
  await reasonOf(app, /3 documents were refused/)
  await shows(app, 'a', 'c', 'd', 'e', 'f')
  rmSync(join(root, 'b.json'))
  await shows(app, 'a', 'e', 'f')
  writeFileSync(join(root, 'c.yaml'), list('g'))
  await shows(app, 'a', 'f', 'g')
})

test('a malformed file is logged once, with its path, and its documents stay after a restart', async (t) => {
  const root = folder(t, { 'a.json': list('a'), 'b.json': list('b') })
  const state = folder(t)
  const start = async () => {
    const { log, lines } = recordedLog()
    const source = { use: 'source/file', with: { name: 'own', path: root, watch: false } }
    const app = await booted(
      t,
      [...registryOf([source], ['own'], { stateDirectory: state }), internalRoutes],
      { log },
    )
    const sync = async () => (await app.inject({ method: 'POST', url: '/internal/sync/own' })).json()
    return { app, sync, lines }
  }
  const first = await start()
  await first.sync()
  writeFileSync(join(root, 'b.json'), '[')
  assert.equal((await first.sync()).refused, 1)
  writeFileSync(join(root, 'a.json'), list('a', 'c'))
  assert.equal((await first.sync()).refused, 1)
  await shows(first.app, 'a', 'b', 'c')
  const lines = first.lines.filter(({ msg }) => msg === 'a document was refused')
  assert.deepEqual(
    lines.map(({ document, reason }) => [document, reason]),
    [[join(root, 'b.json'), 'not JSON at line 1, column 2']],
  )

  const second = await start()
  assert.equal((await second.sync()).refused, 1)
  await shows(second.app, 'a', 'b', 'c')
})

test('a folder or file that is malformed as a whole is named, and the contents stay as they were', async (t) => {
  const root = folder(t, { 'a.json': list('a') })
  for (const path of [root, join(root, 'a.json')]) {
    writeFileSync(join(root, 'a.json'), list('a'))
    const app = await registryOver(t, path)
    await shows(app, 'a')
    writeFileSync(join(root, 'a.json'), '[\n{"name":')
    await reasonOf(app, /a\.json is neither JSON nor YAML: not JSON at line 2, column 9/)
    await shows(app, 'a')
  }
  const app = await registryOver(t, root)
  rmSync(join(root, 'a.json'))
  await reasonOf(app, /FILE_UNREADABLE|no JSON or YAML file/)
})

test('a refused document of a folder is logged with the path of its file', async (t) => {
  const root = folder(t, { 'a.json': list('a'), 'b.yaml': 'name: a.example/b\nversion: 1.0.0\n' })
  const app = await registryOver(t, root)
  await reasonOf(app, /a\.example\/b@1\.0\.0: description: .*, in \S+b\.yaml/)
  await shows(app, 'a')
})

const LIST = '[{"name":"com.example/one","description":"One.","version":"1.0.0"}]'

contractSuite('source/file', (t) => {
  const path = join(folder(t, { 'servers.json': LIST }), 'servers.json')
  return { list: [{ use: 'source/file', with: { name: 'own', path } }] }
})
