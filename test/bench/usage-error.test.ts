import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from './paths.js'

const MISTAKES: readonly (readonly [tool: string, argv: readonly string[], message: RegExp])[] = [
  ['bench/bench.ts', ['64k'], /'64k'/],
  ['bench/bench.ts', ['--only', 'nothing'], /no row holds nothing/],
  ['bench/bench.ts', ['--from', 'nowhere.json'], /--from: .*nowhere\.json/],
  ['soak/soak.ts', ['--minutes', '1'], /--minutes: expected a number of 2 or more/],
]

for (const [tool, argv, message] of MISTAKES) {
  test(`${tool} ${argv.join(' ')} prints its mistake without a stack, and ends with 2`, () => {
    const program = ['-C', 'source', '--import', 'tsx', join(root, 'test', tool), ...argv]
    const { status, stderr } = spawnSync(process.execPath, program, { cwd: root, encoding: 'utf8' })
    assert.equal(status, 2)
    assert.match(stderr, message)
    assert.doesNotMatch(stderr, /^ +at /m)
  })
}
