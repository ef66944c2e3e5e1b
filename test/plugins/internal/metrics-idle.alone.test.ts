import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '#kit/free-port.js'
import { bin } from '#kit/started-program.js'

const SECONDS = 10

/** Nanoseconds that the threads of a process have run. */
const ranFor = (pid: number | undefined): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0])

test('an idle proxy takes less than a millisecond of processor time in a second, also after a scrape', async (t) => {
  const internal = await freePort()
  const argv = [
    'proxy',
    '--target-uri',
    'http://127.0.0.1:9/mcp',
    '--internal-address',
    `127.0.0.1:${internal}`,
    'idle',
  ]
  const child = spawn(process.execPath, [bin, ...argv], { stdio: ['ignore', 'pipe', 'ignore'] })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  await (await fetch(`http://127.0.0.1:${internal}/metrics`)).text()
  await setTimeout(2_000)

  const before = ranFor(child.pid)
  await setTimeout(SECONDS * 1_000)
  const milliseconds = (ranFor(child.pid) - before) / 1e6 / SECONDS

  t.diagnostic(`${milliseconds.toFixed(2)} ms of the processor in a second`)
  assert.ok(milliseconds < 1, `${milliseconds} ms`)
})
