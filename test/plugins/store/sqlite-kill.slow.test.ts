import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { killLoop } from './kill-loop.js'

test('after kill -9 at any moment, all that was answered is in the database once', async (t) => {
  await killLoop(t, { use: 'store/sqlite', with: { directory: folder(t) } }, 30)
})
