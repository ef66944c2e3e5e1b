import assert from 'node:assert/strict'
import { ConfigError, type List } from 'sallyport'
import { planList } from 'sallyport/embed'
import { contextFor } from '#kit/booted.js'

/** The problems of a list that has some. */
export async function problemsOf(list: List, folder: string): Promise<ConfigError['problems']> {
  try {
    await planList(list, contextFor({ folder }))
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems
  }
  return assert.fail('nothing is wrong with the list')
}
