import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { opened } from '#kit/listening.js'
import { startedProgram } from '#kit/started-program.js'

test('a mistake is reported once, whichever process finds it', async (t) => {
  const { port } = await opened(t, createServer())
  const listen = (at: string): string => `plugins:\n  - { use: listen/http, with: { address: '${at}' } }\n`
  const home = folder(t, {
    'unknown.yaml': `${listen('127.0.0.1:0')}  - { use: guard/orgin }\n  - { use: guard/host, with: { alowed: [] } }\n`,
    'taken.yaml': listen(`127.0.0.1:${port}`),
    'memory.yaml': `${listen('127.0.0.1:0')}  - { use: state/memory }\n`,
    'published.yaml': `${listen('127.0.0.1:0')}  - { use: store/sqlite, with: { directory: ./state } }\n  - { use: source/managed, with: { name: published } }\n`,
    'stdio.yaml': `${listen('127.0.0.1:0')}  - { use: listen/stdio, with: { target: 'http://127.0.0.1:9' } }\n  - { use: auth/anonymous }\n`,
  })
  const reported = async (file: string): Promise<readonly string[]> => {
    const gateway = startedProgram(t, ['run', '--config', file, '--workers', '2'], { cwd: home })
    assert.equal(await gateway.ended(), 2, gateway.output.stderr)
    assert.equal(gateway.output.stdout, '')
    const lines = gateway.output.stderr.trim().split('\n')
    return lines.filter((line) => !line.startsWith('{'))
  }

  const unknown = await reported('unknown.yaml')
  assert.deepEqual(
    unknown.map((line) => line.split(' ', 1)[0]),
    ['unknown.yaml:3:12', 'unknown.yaml:4:40'],
  )
  const [busy, ...others] = await reported('taken.yaml')
  assert.deepEqual(others, [])
  assert.equal(busy?.startsWith(`address 127.0.0.1:${port}: `), true, busy)
  assert.match((await reported('memory.yaml')).join(), /^--workers: .*"state\/memory"/)
  assert.match((await reported('published.yaml')).join(), /^--workers: .*"store\/sqlite".*`store\/postgres`/)
  assert.match((await reported('stdio.yaml')).join(), /^--workers: .*"listen\/stdio"/)
})
