import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { spawned } from '#kit/spawned.js'
import { bin } from '#kit/started-program.js'

const hooks = `
  import { writeSync } from 'node:fs'
  export const load = (url, context, next) => {
    if (url.startsWith('file:')) writeSync(2, 'loaded ' + url + '\\n')
    return next(url, context)
  }`
const registering = `import { register } from 'node:module'; register(${JSON.stringify(moduleOf(hooks))})`

function moduleOf(source: string): string {
  return `data:text/javascript,${encodeURIComponent(source)}`
}

/** The files that a program has loaded when it is ready, or at its end. */
async function filesOf(t: TestContext, argv: readonly string[]): Promise<readonly string[]> {
  const { PATH = '' } = process.env
  const command = [process.execPath, '--no-warnings', '--import', moduleOf(registering), bin, ...argv]
  const { output, process: child } = spawned(t, command, {
    env: { PATH, HOME: folder(t) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await eventually(() => /https?:\/\//.test(output.stdout) || child.exitCode !== null, 30)
  const files = [...output.stderr.matchAll(/^loaded (.*)$/gm)].map(([, url = '']) => url)
  assert.ok(files.length > 5, output.stderr)
  return files
}

const isOfPackage = (url: string): boolean => url.includes('/node_modules/')

const target = ['--target-uri', 'http://127.0.0.1:1/mcp']

test('a gateway starts from few files, and from none of a package', async (t) => {
  const place = folder(t, {
    'servers.json': '[]',
    'registry.yaml':
      'address: 127.0.0.1:0\ninternalAddress: 127.0.0.1:0\nauth: { mode: anonymous }\nstateDirectory: null\n' +
      'sources: [{ name: own, file: { path: servers.json } }]\nregistries: [{ name: all, sources: [own] }]\n',
  })
  const registry = await filesOf(t, ['registry', '--config', `${place}/registry.yaml`])
  const proxy = await filesOf(t, ['proxy', 'name', '--port', '0', ...target])
  assert.deepEqual([...registry, ...proxy].filter(isOfPackage), [])
  assert.ok(registry.length < 60, `a registry loads ${registry.length} files`)
  assert.ok(proxy.length < 40, `a proxy loads ${proxy.length} files`)
})

test('a bridge that only forwards starts without what only others need', async (t) => {
  const files = await filesOf(t, ['proxy', 'stdio', 'name', ...target])
  const heavy = /\/(?:undici|prom-client|document|balanced)-[^/]*$/
  assert.deepEqual(
    files.filter((url) => isOfPackage(url) || heavy.test(url)),
    [],
  )
})

test('help comes without what only gateways need', async (t) => {
  for (const argv of [['--help'], ['proxy', '--help'], ['completion', 'bash']]) {
    const files = await filesOf(t, argv)
    assert.deepEqual(
      files.filter((url) => isOfPackage(url) || /\/gateway-[^/]*$/.test(url)),
      [],
    )
  }
})

test('what is published is ASCII, which V8 reads faster than anything else', () => {
  const dist = dirname(dirname(bin))
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.js'),
  )
  const others = files.filter((file) => /[^\0-\x7f]/.test(readFileSync(join(dist, file), 'utf8')))
  assert.deepEqual(others, [])
})
