import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { conformanceSuites } from 'sallyport/testing'
import { builtInCapabilities } from '#core/kernel/observers.js'

const root = join(import.meta.dirname, '../../../core')

test('there is one suite for each capability', () => {
  const named = conformanceSuites.map(({ capability }) => capability.name)
  assert.deepEqual(named.toSorted(), builtInCapabilities.map(({ name }) => name).toSorted())
  assert.equal(named.length, readdirSync(join(root, 'contract/capabilities')).length)
})

test('the codes of a suite differ, and each requirement has a statement and advice', () => {
  for (const { capability, requirements } of conformanceSuites) {
    const codes = requirements.map(({ code }) => code)
    assert.equal(new Set(codes).size, codes.length, capability.name)
    for (const { code, statement, advice } of requirements) {
      assert.match(code, /^[A-Z]+(?:_[A-Z]+)*$/)
      assert.match(statement, /^[a-z].*[^.]$/, code)
      assert.notEqual(advice, '', code)
    }
  }
})

test('a requirement that ends its provider runs last', () => {
  assert.equal(conformanceSuites.at(-1)?.capability.name, 'background task')
})
