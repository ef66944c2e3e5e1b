import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { bin } from '#kit/started-program.js'

const { PATH = '', HOME = '' } = process.env
const env = { PATH, HOME }
const full = (): number => openSync('/dev/full', 'w')

test('a failing stdout is reported in a line, with exit code 1', () => {
  for (const argv of [['--help'], ['schema', 'run']]) {
    const { status, stderr } = spawnSync(process.execPath, [bin, ...argv], {
      env,
      stdio: ['ignore', full(), 'pipe'],
      encoding: 'utf8',
    })

    assert.equal(status, 1, argv.join(' '))
    assert.equal(
      stderr,
      'sallyport: cannot write to standard output (ENOSPC): the rest of the output is missing\n',
    )
  }
})

test('a reader that has read enough is no failure', async () => {
  for (const argv of [['plugins']]) {
    const child = spawn(process.execPath, [bin, ...argv], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let complaint = ''
    child.stderr.on('data', (chunk) => (complaint += String(chunk)))
    child.stdout.destroy()

    assert.deepEqual([...(await once(child, 'close')), complaint], [0, null, ''], argv.join(' '))
  }
})

test('mistakes keep their exit code when stderr fails', (t) => {
  const file = join(folder(t), 'missing.yaml')
  for (const argv of [['--nonsense'], ['registry', '--config', file]]) {
    const { status } = spawnSync(process.execPath, [bin, ...argv], { env, stdio: ['ignore', 'pipe', full()] })

    assert.equal(status, 2, argv.join(' '))
  }
})

const LINES = 30_000

const faulty = `
import { ConfigError, definePlugin } from 'sallyport'
export default definePlugin({
  name: 'faulty',
  api: 1,
  setup() {
    const problems = Array.from({ length: ${LINES} }, (_, index) => ({ place: 'line ' + index, message: 'x'.repeat(40) }))
    throw new ConfigError(problems)
  },
})
`

test('a slow reader of stderr gets all problems before the process ends', async (t) => {
  const home = folder(t)
  writeFileSync(join(home, 'faulty.mjs'), faulty)
  writeFileSync(join(home, 'run.json'), JSON.stringify({ plugins: [{ use: './faulty.mjs' }] }))
  const argv = [bin, 'run', '--config', join(home, 'run.json')]
  const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))

  const { stderr } = child
  await once(stderr, 'readable')
  let text = ''
  stderr.on('data', (chunk) => (text += String(chunk)))
  assert.deepEqual(await once(child, 'close'), [2, null])

  assert.equal(text.split('\n').filter((line) => line.includes('line ')).length, LINES)
})
