import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { bin } from '#kit/started-program.js'

const { PATH = '', HOME = '' } = process.env

/** Starts it with so many files that it may open, until it has ended or is ready; then it is asked to stop. */
async function started(limit: number, argv: readonly string[]) {
  const child = spawn('sh', ['-c', `ulimit -n ${limit}; exec "$@"`, 'sh', process.execPath, bin, ...argv], {
    env: { PATH, HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [said, complaint] = ['', '']
  child.stderr.on('data', (chunk) => (complaint += String(chunk)))
  child.stdout.on('data', (chunk) => {
    if (said === '') child.kill('SIGTERM')
    said += String(chunk)
  })
  const [code] = await once(child, 'close')
  return { code, ready: said !== '', complaint }
}

const warning = /"warn".*this process may have (\d+) files and connections open at once.*`ulimit -n`/

// With fewer Node has none left to read the first file of a program. Node 26 needs fewer.
const fewest = process.versions.node.startsWith('26.') ? 22 : 21
const limits = [fewest, 24, 28, 32, 48, 64, 96, 256]

test('at every step, too few open files are reported in a sentence', async (t) => {
  const home = folder(t)
  const settings = {
    address: '127.0.0.1:0',
    internalAddress: '127.0.0.1:0',
    stateDirectory: null,
    auth: { mode: 'anonymous' },
    sources: [{ name: 'own', file: { path: './servers.json' } }],
    registries: [{ name: 'default', sources: ['own'] }],
  }
  writeFileSync(join(home, 'registry.json'), JSON.stringify(settings))
  writeFileSync(join(home, 'servers.json'), '[]')
  const seen = new Set<boolean>()

  for (const limit of limits) {
    const { code, ready, complaint } = await started(limit, [
      'registry',
      '--config',
      join(home, 'registry.json'),
    ])
    seen.add(ready)
    assert.doesNotMatch(complaint, /^ {4}at |"fatal"/m, `${limit}`)
    assert.equal(code, ready ? 0 : 1, `${limit}: ${complaint}`)
    if (ready) assert.equal(warning.exec(complaint)?.[1], String(limit))
    else
      assert.match(
        complaint,
        /^sallyport: .*\(EMFILE\): raise the limit to 1024 or more, with `ulimit -n`.*\n$/m,
      )
  }
  assert.deepEqual(seen, new Set([false, true]), 'some are too few, and some are enough')
})

test('with enough open files nothing is reported about them', async () => {
  const { code, complaint } = await started(4_096, [
    ...['proxy', 'x', '--target-uri', 'http://127.0.0.1:1/mcp', '--port', '0'],
  ])

  assert.equal(code, 0)
  assert.doesNotMatch(complaint, /open at once/)
})
