import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { noHaproxy } from '#kit/haproxy.js'
import { noPostgres } from '#kit/postgres.js'

/** The processes whose folder, arguments or variables name this directory. */
const processesOf = (directory: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false
    try {
      const texts = ['cmdline', 'environ'].map((file) => readFileSync(join('/proc', pid, file), 'utf8'))
      return [...texts, readlinkSync(join('/proc', pid, 'cwd'))].some((text) => text.includes(directory))
    } catch {
      return false
    }
  })

test('Ctrl-C ends a run with its report, and leaves no process', {
  skip: noPostgres ?? noHaproxy,
}, async (t) => {
  const directory = folder(t)
  // The database runs as a user of its own.
  chmodSync(directory, 0o755)
  const argv = ['-C', 'source', '--import', 'tsx', join(import.meta.dirname, 'faults.ts')]
  const options = ['--only', 'connections-end']
  // With NODE_TEST_CONTEXT it reports to this run of tests.
  const env: NodeJS.ProcessEnv = { ...process.env, TMPDIR: directory }
  delete env['NODE_TEST_CONTEXT']
  const running = spawn(process.execPath, [...argv, ...options], { env, detached: true })
  const ended = once(running, 'close')
  t.after(() => running.kill('SIGKILL'))
  let output = ''
  for (const stream of [running.stdout, running.stderr])
    stream.on('data', (chunk) => {
      output += String(chunk)
    })
  await eventually(() => {
    assert.equal(running.exitCode, null, output)
    return output.includes(' s: connections-end;')
  }, 120)
  assert.ok(processesOf(directory).length > 6)

  // A terminal signals the whole process group.
  process.kill(-(running.pid ?? assert.fail()), 'SIGINT')
  const [code] = await ended
  assert.equal(code, 0, output)
  assert.match(output, /^0\.\d minutes, \d+ faults, .*: held$/m)
  await eventually(() => processesOf(directory).length === 0)
})
