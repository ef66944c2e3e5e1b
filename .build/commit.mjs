import { spawnSync } from 'node:child_process'

/**
 * The commit that a folder was checked out from, with `-dirty` behind it when files differ: the top of a repository, or
 * nothing. An unpacked tarball may lie inside a repository of somebody else.
 */
export function commitOf(folder) {
  if (process.env.SALLYPORT_COMMIT) return process.env.SALLYPORT_COMMIT
  // A hook of git sets these, for the repository that it belongs to.
  const env = { ...process.env, GIT_DIR: undefined, GIT_WORK_TREE: undefined }
  const git = (...argv) => spawnSync('git', argv, { cwd: folder, env, encoding: 'utf8' })
  const top = git('rev-parse', '--show-cdup')
  if (top.status !== 0 || top.stdout.trim() !== '') return undefined
  const { status, stdout } = git('describe', '--always', '--dirty', '--abbrev=40', '--exclude=*')
  return status === 0 ? stdout.trim() : undefined
}
