import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '#kit/folder.js'
import { ownSources } from '#kit/own-sources.js'
import { storing } from './storing.js'

const [OLD, NEW] = ['old'.repeat(5000), 'new'.repeat(5000)]

const entryIn = (directory: string) => ({ use: 'state/sqlite', with: { directory } })
const inFiles = (t: TestContext, directory: string) => storing(t, [entryIn(directory)])

/** Saves a value under a lock in another process, which may be killed before a step. */
async function saved(directory: string, environment: Readonly<Record<string, string>>): Promise<unknown> {
  const child = spawn(
    process.execPath,
    [
      ...[...ownSources.node, '--import', import.meta.resolve('../../kit/kill-at.mjs')],
      ...[
        ownSources.script(join(import.meta.dirname, 'child.ts')),
        JSON.stringify(entryIn(directory)),
        'save',
      ],
    ],
    { env: { ...process.env, KILL_BELOW: directory, ...environment }, stdio: 'inherit' },
  )
  const [code, signal] = await once(child, 'exit')
  return signal ?? code
}

async function prepared(t: TestContext): Promise<string> {
  const directory = folder(t)
  const { store } = await inFiles(t, directory)
  await store.set('value', OLD)
  // A lock that was held before still has its last file.
  await store.locked('key', async () => {})
  return directory
}

/** Every step of a save under a lock in a process that is not killed. */
async function stepsOfSave(t: TestContext): Promise<readonly string[]> {
  const KILL_TRACE = join(folder(t), 'steps')
  assert.equal(await saved(await prepared(t), { KILL_TRACE }), 0)
  return readFileSync(KILL_TRACE, 'utf8').trim().split('\n')
}

test('a kill at every step of a save leaves the old value or the new one, and a free lock', async (t) => {
  const steps = await stepsOfSave(t)
  const draft = ['open', 'write', 'sync']
  const replaced = [...draft, 'rename', 'sync']
  // The lock is acquired and its older file deleted; the value is written; the lock is released.
  const acquired = [...draft, 'link', 'unlink', 'unlink']
  assert.deepEqual(steps, [...acquired, ...replaced, ...replaced])

  const renamed = steps.indexOf('rename')
  const at = steps.flatMap((name, index) => {
    const step = { index, KILL_AT: String(index + 1) }
    return name === 'write' ? [step, { index, KILL_AT: `${step.KILL_AT}/half` }] : [step]
  })
  const kill = async ({ index, KILL_AT }: (typeof at)[number]): Promise<void> => {
    const directory = await prepared(t)
    const where = `step ${KILL_AT}, ${steps[index]}`
    assert.equal(await saved(directory, { KILL_AT }), 'SIGKILL', where)

    const { store, lines } = await inFiles(t, directory)
    assert.equal(await store.get('value'), index <= renamed ? OLD : NEW, where)
    const since = performance.now()
    await store.locked('key', () => store.set('value', 'later'))
    assert.ok(performance.now() - since < 2000, where)
    assert.equal(await store.get('value'), 'later', where)
    assert.deepEqual(
      lines.filter(({ level }) => level === 'warn'),
      [],
      where,
    )
    // Drafts are deleted when they are old.
    const left = readdirSync(join(directory, 'locks')).filter((name) => !name.endsWith('.tmp'))
    assert.equal(left.length, 1, where)
  }
  const queue = at.values()
  const worker = async (): Promise<void> => {
    for (const each of queue) await kill(each)
  }
  await Promise.all([worker(), worker()])
})
