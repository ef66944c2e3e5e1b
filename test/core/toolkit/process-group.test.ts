import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withFewFiles } from '#kit/few-files.js'

const STARTING = `
  import { once } from 'node:events'
  import { signalGroup, spawnProcessGroup } from 'sallyport/toolkit'
  const outcomes = []
  for (let left = 0; left < 12; left++) {
    const free = fill(left)
    try {
      const child = spawnProcessGroup(['true'], { env: process.env })
      const [code] = await once(child, 'exit')
      signalGroup(child, 'SIGKILL')
      outcomes.push(code)
    } catch ({ code }) {
      outcomes.push(code)
    }
    free()
  }
  console.log(JSON.stringify(outcomes))
  process.exit()`

const skip = process.platform === 'win32'

test('starting a program without free file descriptors fails with an error, and the process goes on', {
  skip,
}, () => {
  const outcomes = withFewFiles(STARTING) as readonly unknown[]
  assert.equal(outcomes[0], 'EMFILE')
  assert.equal(outcomes.at(-1), 0)
  assert.deepEqual(new Set(outcomes), new Set(['EMFILE', 0]))
})
