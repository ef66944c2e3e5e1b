import assert from 'node:assert/strict'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { startedProgram } from '#kit/started-program.js'
import { idsIn } from './feeder.js'

/** The program with a small audit file, and callers that send requests without a pause until the test ends them. */
async function underLoad(t: TestContext, argv: readonly string[] = []) {
  const place = folder(t)
  const path = join(place, 'audit.jsonl')
  const list = `plugins:
  - { use: listen/http, with: { address: '127.0.0.1:0' } }
  - { use: auth/anonymous }
  - { use: audit/file, with: { path: ${path}, maxBytes: 64KiB, keep: 900 } }
`
  const config = join(folder(t, { 'gateway.yaml': list }), 'gateway.yaml')
  const running = startedProgram(t, ['run', '--config', config, ...argv], { patience: 30 })
  const origin = await running.ready()
  let ending = false
  let answered = 0
  const callers = Array.from({ length: 4 }, async () => {
    while (!ending) {
      const response = await fetch(`${origin}/`)
      await response.arrayBuffer()
      assert.equal(response.status, 404)
      answered++
    }
  })
  return {
    path,
    running,
    answered: () => answered,
    more: (count: number) => eventually(() => answered >= count, 60),
    async end(): Promise<readonly string[]> {
      ending = true
      await Promise.all(callers)
      running.stop()
      assert.equal(await running.ended(), 0, running.output.stderr)
      const files = [path]
      while (existsSync(`${path}.${files.length}`)) files.push(`${path}.${files.length}`)
      if (existsSync(`${path}.moved`)) files.push(`${path}.moved`)
      assert.ok(files.length > 2, `${files.length} files`)
      return files.flatMap((file) => idsIn(readFileSync(file, 'utf8')))
    },
  }
}

/** False at the moment when the program has renamed the file. */
function moved(path: string): boolean {
  try {
    renameSync(path, `${path}.moved`)
    return true
  } catch {
    return false
  }
}

const RELOADED = /the configuration was read again and is in force/g

for (const workers of [[], ['--workers', '2']]) {
  test(`no request is missing in the file after reloads under load ${workers.join(' ')}`, async (t) => {
    const { path, running, answered, more, end } = await underLoad(t, workers)
    for (let reload = 1; reload <= 3; reload++) {
      await more(answered() + 200)
      if (reload === 2) await eventually(() => moved(path))
      running.reload()
      await eventually(() => [...running.output.stderr.matchAll(RELOADED)].length === reload, 30)
    }
    await more(answered() + 200)

    const found = await end()
    assert.equal(found.length, answered())
    assert.equal(new Set(found).size, found.length)
    assert.ok(existsSync(path))
  })
}

test('doctor reports whether the file can be written, and changes nothing', async (t) => {
  const place = folder(t)
  const path = join(place, 'audit.jsonl')
  const doctor = async (file: string) => {
    const plugins = [{ use: 'auth/anonymous' }, { use: 'audit/file', with: { path: file } }]
    const home = folder(t, { 'run.json': JSON.stringify({ plugins }) })
    const running = startedProgram(t, ['doctor', '--config', join(home, 'run.json')], { patience: 60 })
    const code = await running.ended()
    return { code, text: running.output.stdout + running.output.stderr }
  }
  const good = await doctor(path)
  assert.equal(good.code, 0, good.text)
  assert.match(good.text, /audit\.jsonl can be written/)
  assert.equal(existsSync(path), false)

  const wrong = await doctor(join(place, 'missing/audit.jsonl'))
  assert.equal(wrong.code, 1)
  assert.match(wrong.text, /there is no folder .*missing: create it/)
})
