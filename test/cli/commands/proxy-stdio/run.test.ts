import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { program } from '#kit/program.js'

const TELL_WHAT_WAS_LOADED = `
  import module from 'node:module'
  process.on('exit', () => process.stderr.write(Object.keys(module._cache).join('\\n')))
`

test('a bridge that only forwards starts without what only others need', async (t) => {
  const target = `${await closedPort()}/mcp`
  const bridge = program(t, ['proxy', 'stdio', 'test', '--target-uri', target], {
    environment: {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TELL_WHAT_WAS_LOADED)}`,
    },
  })

  assert.equal(await bridge.ended(), 0)
  const { stderr } = bridge.output
  assert.match(stderr, /node_modules\/fastify\/fastify/)
  const heavy = /node_modules\/(ajv|@fastify\/reply-from|undici|pino-pretty|prom-client)\b/
  assert.equal(heavy.exec(stderr)?.[0], undefined)
})

test("compiled code is kept in the user's own cache folder, and in none that users share", {
  skip: 'enableCompileCache' in nodeModule ? false : 'this Node cannot',
}, async (t) => {
  const cache = folder(t)
  const target = `${await closedPort()}/mcp`
  const bridge = program(t, ['proxy', 'stdio', 'test', '--target-uri', target], {
    environment: { XDG_CACHE_HOME: cache, TMPDIR: folder(t) },
  })

  assert.equal(await bridge.ended(), 0)
  assert.ok(readdirSync(join(cache, 'sallyport/compiled')).length > 0)
})
