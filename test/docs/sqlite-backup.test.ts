import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { folder } from '#kit/folder.js'
import { publish, publishing, versionsIn } from '../plugins/store/publishing.js'
import { blocks } from './pages.js'

const command = blocks('plugins/store/README.md', 'sh')
  .map(({ text }) => text.trim())
  .find((text) => text.startsWith('node -e'))

test('the command of the page makes a backup while a team publishes, and the backup can be restored', async (t) => {
  const home = folder(t)
  const directory = join(home, 'state')
  const store = { use: 'store/sqlite', with: { directory } }
  const { publications, stop } = await publishing(t, store)
  await publish(publications, 'a.example/one', '1')

  await promisify(execFile)('sh', ['-c', command ?? 'false'], { cwd: home })
  await publish(publications, 'a.example/one', '2')
  await stop()
  for (const file of ['published.sqlite-wal', 'published.sqlite-shm'])
    rmSync(join(directory, file), { force: true })
  copyFileSync(join(home, 'published.backup'), join(directory, 'published.sqlite'))

  const restored = await publishing(t, store)
  assert.deepEqual(await versionsIn(restored.publications), ['a.example/one@1'])
  await publish(restored.publications, 'a.example/one', '2')
})
