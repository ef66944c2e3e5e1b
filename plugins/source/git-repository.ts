import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Fetched, GatewayError, type SyncContext } from 'sallyport'
import { type GitOptions, git } from './git-command.js'
import { checkedBytes, isListName } from './list-text.js'

export interface GitPlace {
  readonly url: string
  readonly ref: string
  /** A file, or a folder of files. */
  readonly path: string
  readonly timeout: number
  readonly maxBytes: number
  readonly environment: () => NodeJS.ProcessEnv
  readonly header: () => string | undefined
}

interface Blob {
  readonly id: string
  readonly size: number
  readonly path: string
}

/** Reads files out of one commit of a repository. Nothing of it stays on this machine. */
export class GitRepository {
  constructor(private readonly place: GitPlace) {}

  async read({ signal, bookmark }: SyncContext): Promise<Fetched> {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-git-'))
    const limit = AbortSignal.any([signal, AbortSignal.timeout(this.place.timeout)])
    try {
      const { place } = this
      const options = { signal: limit, folder, environment: place.environment(), header: place.header() }
      const { ref, commit } = await this.resolve(options)
      if (commit === bookmark) return { kind: 'unchanged' }
      await git(['init', '--quiet', '--bare', '.'], options)
      await git(['fetch', '--quiet', '--depth=1', '--no-tags', '--', this.place.url, ref], options)
      return await this.contents(commit, options)
    } catch (error) {
      if (limit.aborted && !signal.aborted) {
        const message = `git did not finish within ${this.place.timeout / 1000} s`
        throw new GatewayError('GIT_TIMEOUT', message, { cause: error })
      }
      throw error
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  /** The commit that the reference stands for over there: the only question while nothing changes. */
  private async resolve(options: GitOptions): Promise<{ ref: string; commit: string }> {
    const { url, ref } = this.place
    if (/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(ref)) return { ref, commit: ref }
    const wanted = ref === 'HEAD' ? ['HEAD'] : [`refs/heads/${ref}`, `refs/tags/${ref}`, ref]
    const out = await git(['ls-remote', '--quiet', '--', url, ...wanted], options)
    const found = new Map(
      out
        .toString('utf8')
        .split('\n')
        .map((line) => {
          const [commit = '', name = ''] = line.split('\t')
          return [name, commit]
        }),
    )
    const name = wanted.find((each) => found.has(each))
    if (name === undefined)
      throw new GatewayError('GIT_REF_UNKNOWN', `there is no "${ref}" in the repository`)
    return { ref: name, commit: found.get(name) ?? '' }
  }

  private async contents(commit: string, options: GitOptions): Promise<Fetched> {
    const [tree, date] = await Promise.all([
      git(['ls-tree', '-r', '-l', '-z', '--full-tree', 'FETCH_HEAD', ...this.below()], options),
      git(['show', '--no-patch', '--format=%cI', 'FETCH_HEAD'], options),
    ])
    const blobs = this.wanted(blobsIn(tree))
    const input = blobs.map(({ id }) => `${id}\n`).join('')
    const batch = await git(['cat-file', '--batch'], { ...options, input })
    return {
      kind: 'whole',
      payloads: payloadsIn(batch, blobs),
      asOf: new Date(date.toString('utf8').trim()),
      bookmark: () => commit,
    }
  }

  private below(): string[] {
    return this.place.path === '.' ? [] : ['--', this.place.path]
  }

  private wanted(blobs: readonly Blob[]): readonly Blob[] {
    const { path, maxBytes } = this.place
    const found = blobs.filter((blob) => blob.path === path || isListName(blob.path))
    if (found.length === 0) throw new GatewayError('GIT_PATH_EMPTY', `there is nothing to read at "${path}"`)
    const size = found.reduce((sum, blob) => sum + blob.size, 0)
    if (size > maxBytes) {
      throw new GatewayError('GIT_TOO_LARGE', `what is at "${path}" has more than ${maxBytes} bytes`)
    }
    return found
  }
}

/** Plain files only: a symbolic link could lead anywhere. */
function blobsIn(tree: Buffer): Blob[] {
  return tree
    .toString('utf8')
    .split('\0')
    .flatMap((line) => {
      const match = /^100\d{3} blob ([0-9a-f]+) +(\d+)\t(.+)$/s.exec(line)
      return match === null ? [] : [{ id: match[1] ?? '', size: Number(match[2]), path: match[3] ?? '' }]
    })
}

/** `ID blob SIZE`, a line break, the bytes, a line break; one after the other, in the order they were asked for. */
function* payloadsIn(batch: Buffer, blobs: readonly Blob[]): Generator<Uint8Array> {
  let at = 0
  for (const { path, size } of blobs) {
    const start = batch.indexOf(0x0a, at) + 1
    yield checkedBytes('GIT_FILE_MALFORMED', path, batch.subarray(start, start + size))
    at = start + size + 1
  }
}
