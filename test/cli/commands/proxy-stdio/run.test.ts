import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { startedProgram } from '#kit/started-program.js'

test("compiled code is stored in the user's own cache folder, never in one that users share", {
  skip: 'enableCompileCache' in nodeModule ? false : 'this Node cannot',
}, async (t) => {
  const cache = folder(t)
  const target = `${await closedPort()}/mcp`
  const bridge = startedProgram(t, ['proxy', 'stdio', 'test', '--target-uri', target], {
    environment: { XDG_CACHE_HOME: cache, TMPDIR: folder(t) },
  })

  assert.equal(await bridge.ended(), 0)
  assert.ok(readdirSync(join(cache, 'sallyport/compiled')).length > 0)
})
