import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { folder } from '#kit/folder.js'
import { type Outcome, ServedDatabase } from '#plugins/store/sqlite/served-database.js'

const tables = {
  application: 1,
  level: 1,
  synchronous: 'full',
  isOnly: false,
  schema: 'create table item (name text not null unique) strict',
  prepare: (database: DatabaseSync) => ({
    reads: {
      names: () =>
        database
          .prepare('select name from item')
          .all()
          .map(({ name }) => name),
    },
    writes: {
      add: (name: string) => void database.prepare('insert into item values (?)').run(name),
      addAndFail(name: string) {
        database.prepare('insert into item values (?)').run(name)
        throw new Error('failed')
      },
      /** As somebody else does at this moment. */
      addAndMove(name: string, path: string) {
        database.prepare('insert into item values (?)').run(name)
        renameSync(path, `${path}.away`)
      },
      /** As SQLite does when the disk is full. */
      addAndRollBack(name: string) {
        database.prepare('insert into item values (?)').run(name)
        database.exec('rollback')
        throw new Error('rolled back')
      },
    },
  }),
} as const

function served(t: TestContext, path = join(folder(t), 'test.sqlite'), isOnly = false) {
  const database = new ServedDatabase(path, { ...tables, isOnly })
  t.after(() => database.close())
  return (...calls: readonly (readonly [name: string, ...args: unknown[]])[]): readonly string[] => {
    const outcomes: [number, Outcome][] = []
    database.run(
      calls.map(([name, ...args], id) => ({ id, name, args })),
      (id, outcome) => outcomes.push([id, outcome]),
    )
    return outcomes.map(
      ([id, outcome]) =>
        `${id} ${'error' in outcome ? (outcome.error as Error).message : JSON.stringify(outcome.result ?? null)}`,
    )
  }
}

test('only a failing call is undone, and calls that arrive together are answered, reads first', (t) => {
  const run = served(t)
  assert.deepEqual(run(['add', 'a'], ['addAndFail', 'b'], ['names'], ['add', 'c']), [
    ...['2 []', '0 null', '1 failed', '3 null'],
  ])
  assert.deepEqual(run(['names']), ['0 ["a","c"]'])
})

test('when a disk failure ends the transaction nothing of it is stored, and every call in it fails', (t) => {
  const run = served(t)
  assert.deepEqual(run(['add', 'a'], ['addAndRollBack', 'b'], ['add', 'c']), [
    ...['0 rolled back', '1 rolled back', '2 rolled back'],
  ])
  assert.deepEqual(run(['names']), ['0 []'])
})

test('writes to a database whose file was moved away fail when there is no other copy', (t) => {
  const path = join(folder(t), 'test.sqlite')
  const run = served(t, path, true)
  const gone = 'its file is gone, or another file replaced it: put it back before you restart'
  assert.deepEqual(run(['addAndMove', 'a', path]), [`0 ${gone}`])
  assert.deepEqual(run(['add', 'b']), [`0 ${gone}`])
})
