import assert from 'node:assert/strict'
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

/** The files that a program has loaded when it is ready, or when it has ended. */
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

const target = ['--target-uri', 'http://127.0.0.1:1/mcp']

test('a bridge that only forwards loads no HTTP client, metrics, YAML or validation package', async (t) => {
  const files = await filesOf(t, ['proxy', 'stdio', 'name', ...target])
  const heavy = /\/(?:node_modules\/(?:undici|prom-client|yaml|ajv)\/|parts\/(?:document|balanced)-)/
  assert.deepEqual(
    files.filter((url) => heavy.test(url)),
    [],
  )
})

test('help and completion load no part of the gateway', async (t) => {
  for (const argv of [['--help'], ['proxy', '--help'], ['completion', 'bash']]) {
    const files = await filesOf(t, argv)
    assert.deepEqual(
      files.filter((url) => /\/node_modules\/(?!\.cache)(?!sade|mri|ipaddr)|\/gateway-[^/]*$/.test(url)),
      [],
    )
  }
})
