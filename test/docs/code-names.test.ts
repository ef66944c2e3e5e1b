import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root, textOf } from './pages.js'

const core = join(root, 'core')
const text = textOf('core/README.md').replaceAll(/\s+/g, ' ')

test('every file and folder that core/README.md names exists', () => {
  const paths = [...text.matchAll(/`([\w./-]+(?:\.ts|\/))`/g)].map(([, path = '']) => path)
  assert.ok(paths.length > 20)
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(core, path)) && !existsSync(join(root, path))),
    [],
  )
})

test('every name in core/README.md is in the file beside it', () => {
  const steps = [...text.matchAll(/((?:`\w+`(?: and )?)+) \(`([\w/.-]+\.ts)`\)/g)]
  const named = steps.flatMap(([, names = '', file = '']) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => ({ name, file })),
  )
  assert.ok(named.length > 30)
  const missing = named.filter(
    ({ name, file }) => !new RegExp(`\\b${name}\\b`).test(readFileSync(join(core, file), 'utf8')),
  )
  assert.deepEqual(missing, [])
})
