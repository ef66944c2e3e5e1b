import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'

const script = join(import.meta.dirname, '../../.build/commit.mjs')

/** The commit that a build in this folder finds. */
function commitOf(directory: string, environment: Readonly<Record<string, string>> = {}): unknown {
  const code = `import { commitOf } from ${JSON.stringify(script)}; console.log(JSON.stringify(commitOf('.') ?? null))`
  const { PATH = '' } = process.env
  const env = { PATH, ...environment }
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', code], {
      cwd: directory,
      env,
      encoding: 'utf8',
    }),
  )
}

test('a build finds the commit of its checkout, and none in a tarball, in another repository, or without git', (t) => {
  const home = folder(t, { file: 'a' })
  assert.equal(commitOf(home), null)

  const git = (...argv: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...argv], {
      cwd: home,
      encoding: 'utf8',
    }).trim()
  git('init', '-q')
  assert.equal(commitOf(home), null)
  git('add', '.')
  git('commit', '-q', '-m', 'a')
  git('tag', 'v1')
  const commit = git('rev-parse', 'HEAD')
  assert.equal(commitOf(home), commit)
  writeFileSync(join(home, 'file'), 'b')
  assert.equal(commitOf(home), `${commit}-dirty`)

  const unpacked = join(home, 'unpacked')
  mkdirSync(unpacked)
  assert.equal(commitOf(unpacked), null)
  assert.equal(commitOf(unpacked, { GIT_DIR: join(home, '.git') }), null)
  assert.equal(commitOf(home, { PATH: '/nowhere' }), null)
  assert.equal(commitOf(unpacked, { SALLYPORT_COMMIT: 'given' }), 'given')
})
