import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { folder } from '#kit/folder.js'

/** A git repository, and a function that commits files to it. */
export function repository(t: TestContext) {
  const root = folder(t)
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: root,
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.com',
    GIT_COMMITTER_DATE: '2024-03-04T05:06:07Z',
  }
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, env, encoding: 'utf8' })
  git('init', '--quiet', '--initial-branch=main', '.')
  return {
    root,
    git,
    commit(files: Readonly<Record<string, string>>): string {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(root, path)), { recursive: true })
        writeFileSync(join(root, path), text)
      }
      git('add', '--all')
      git('commit', '--quiet', '--message=x')
      return git('rev-parse', 'HEAD').trim()
    },
  }
}
