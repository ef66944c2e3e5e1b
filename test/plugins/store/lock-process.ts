import { readFileSync, writeFileSync } from 'node:fs'
import { FileLock } from '#plugins/store/sqlite/file-lock.js'

// Counts under a lock again and again, as fast as it can.
const [path = '', counter = '', rounds = ''] = process.argv.slice(2)

const lock = new FileLock(path, { warn() {} })
for (let round = 0; round < Number(rounds); ) {
  const held = lock.tryAcquire()
  if (held === undefined) continue
  // Not atomic on purpose: only the lock keeps the others out in between.
  writeFileSync(counter, String(Number(readFileSync(counter, 'utf8')) + 1))
  held.release()
  round++
}
