import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { type FetchedDocuments, type FetchResult, GatewayError, type SyncContext } from 'sallyport'
import { signalGroup, spawnProcessGroup } from 'sallyport/toolkit'
import { type DocumentFile, type DocumentReader, isDocumentName, UNDATED } from './file-json.js'
import { TemporaryFolder } from './temporary-folder.js'

interface GitRepositoryOptions {
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

/** Reads files of one commit of a repository, through a temporary clone. */
export class GitRepository {
  constructor(
    private readonly options: GitRepositoryOptions,
    private readonly documents: DocumentReader,
  ) {}

  async read({ signal, bookmark }: SyncContext): Promise<FetchResult> {
    const { timeout, environment, header } = this.options
    const temporary = await TemporaryFolder.open(timeout)
    const { path: folder } = temporary
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
    try {
      const git = { signal: limit, folder, environment: environment(), header: header() }
      const { ref, commit } = await this.resolve(git)
      const current = `${UNDATED} ${commit}`
      if (current === bookmark) return { kind: 'unchanged' }
      await runGit(['init', '--quiet', '--bare', '.'], git)
      await this.fetch(ref, git)
      return { ...(await this.contents(git)), bookmark: () => current }
    } catch (error) {
      if (limit.aborted && !signal.aborted) {
        const message = `git did not finish within ${timeout / 1000} s`
        throw new GatewayError('GIT_TIMEOUT', message, { cause: error })
      }
      throw error
    } finally {
      await temporary.close()
    }
  }

  /** The commit of the ref in the remote repository: the only request while nothing changes. */
  private async resolve(git: GitOptions): Promise<{ ref: string; commit: string }> {
    const { url, ref } = this.options
    if (/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(ref)) return { ref, commit: ref }
    const wanted = ref === 'HEAD' ? ['HEAD'] : [`refs/heads/${ref}`, `refs/tags/${ref}`, ref]
    const out = await runGit(['ls-remote', '--quiet', '--', url, ...wanted], git)
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

  /** A fetch writes one pack file: the system kills git when it exceeds the limit on the size of a file. */
  private async fetch(ref: string, git: GitOptions): Promise<void> {
    const { url, maxBytes } = this.options
    const maxFileBytes = maxBytes + OVERHEAD
    try {
      await runGit(['fetch', '--quiet', '--depth=1', '--no-tags', '--', url, ref], { ...git, maxFileBytes })
    } catch (cause) {
      git.signal.throwIfAborted()
      if ((await largestIn(join(git.folder, 'objects', 'pack'))) < maxBytes) throw cause
      const message = `what is fetched of the repository, which is all its files, has more than ${maxBytes} bytes`
      throw new GatewayError('GIT_TOO_LARGE', message, { cause })
    }
  }

  private async contents(git: GitOptions): Promise<FetchedDocuments> {
    const tree = await runGit(
      ['ls-tree', '-r', '-l', '-z', '--full-tree', 'FETCH_HEAD', ...this.pathspec()],
      git,
    )
    const blobs = this.wanted(blobsIn(tree))
    const input = blobs.map(({ id }) => `${id}\n`).join('')
    const maxOutput = blobs.reduce((sum, { size }) => sum + size + HEADER, 0)
    const batch = await runGit(['cat-file', '--batch'], { ...git, input, maxOutput })
    return { kind: 'whole', ...(await this.documents.read(filesIn(batch, blobs), git.signal)) }
  }

  private pathspec(): string[] {
    return this.options.path === '.' ? [] : ['--', this.options.path]
  }

  private wanted(blobs: readonly Blob[]): readonly Blob[] {
    const { path, maxBytes } = this.options
    const found = blobs.filter((blob) => blob.path === path || isDocumentName(blob.path))
    if (found.length === 0)
      throw new GatewayError('GIT_PATH_EMPTY', `the repository has no file at "${path}"`)
    const size = found.reduce((sum, blob) => sum + blob.size, 0)
    if (size > maxBytes) {
      throw new GatewayError('GIT_TOO_LARGE', `the files at "${path}" have more than ${maxBytes} bytes`)
    }
    return found
  }
}

/** Regular files only: a symbolic link could point anywhere. */
function blobsIn(tree: Buffer): Blob[] {
  return tree
    .toString('utf8')
    .split('\0')
    .flatMap((line) => {
      const match = /^100\d{3} blob ([0-9a-f]+) +(\d+)\t(.+)$/s.exec(line)
      return match === null ? [] : [{ id: match[1] ?? '', size: Number(match[2]), path: match[3] ?? '' }]
    })
}

async function largestIn(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => [])
  const facts = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)))
  return Math.max(0, ...facts.map((each) => each?.size ?? 0))
}

// For each blob in a batch: its id of up to 64 digits, its type, its size and two line breaks.
const HEADER = 128
// Bytes that a pack has besides the files.
const OVERHEAD = 64 * 1024

/** Reads `ID blob SIZE`, a line break, the bytes, a line break, for each blob in the order of the request. */
function filesIn(batch: Buffer, blobs: readonly Blob[]): DocumentFile[] {
  let at = 0
  return blobs.map(({ path, size }) => {
    const start = batch.indexOf(0x0a, at) + 1
    at = start + size + 1
    return { path, bytes: batch.subarray(start, start + size) }
  })
}

interface GitOptions {
  readonly signal: AbortSignal
  readonly folder: string
  readonly environment: NodeJS.ProcessEnv
  /**
   * A header for the server, such as `Authorization: Basic ...`. It is passed in the environment: every user of the
   * machine can read arguments.
   */
  readonly header?: string | undefined
  readonly input?: string
  /** The most bytes that git may print. */
  readonly maxOutput?: number
  /** The most bytes that git may write to one file. */
  readonly maxFileBytes?: number
}

/** Runs the system's git without a shell, prompts, or any setting by which a repository could run a command here. */
async function runGit(args: readonly string[], options: GitOptions): Promise<Buffer> {
  const { signal, folder, environment, header, input, maxFileBytes } = options
  signal.throwIfAborted()
  const child = spawnProcessGroup(['git', ...SETTINGS, ...args], {
    cwd: folder,
    env: environmentWith(environment, header),
    ...(maxFileBytes !== undefined && { maxFileBytes }),
  })
  // The child processes of git, such as git-remote-https, are in its process group, and are killed with it.
  const end = (): void => signalGroup(child, 'SIGKILL')
  signal.addEventListener('abort', end, { once: true })
  try {
    const closed = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', end)
      child.once('close', resolve)
    })
    child.stdin.end(input)
    const maxOutput = options.maxOutput ?? MAX_STDOUT
    const [out, stderr, code] = await Promise.all([
      readUpTo(child.stdout, maxOutput, end),
      readUpTo(child.stderr, MAX_STDERR, end),
      closed,
    ])
    signal.throwIfAborted()
    if (out === undefined)
      throw new GatewayError('GIT_TOO_LARGE', `git ${args[0]} printed more than ${maxOutput} bytes`)
    if (code === 0) return out
    if (code === NOT_FOUND) throw new GatewayError('GIT_MISSING', 'git is not installed on this machine')
    const reason = reasonIn(stderr?.toString('utf8') ?? '')
    throw new GatewayError('GIT_FAILED', `git ${args[0]} failed: ${reason}`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new GatewayError('GIT_MISSING', 'git is not installed on this machine', { cause: error })
  } finally {
    signal.removeEventListener('abort', end)
  }
}

// The exit code of a shell for an unknown command.
const NOT_FOUND = 127
// Bytes of a list of files: a hostile repository may have an endless one.
const MAX_STDOUT = 32 * 1024 ** 2
const MAX_STDERR = 64 * 1024

/** The whole stream; when it is longer than `most`, undefined, and `end` is called. */
async function readUpTo(stream: Readable, most: number, end: () => void): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size <= most) chunks.push(chunk)
    else end()
  }
  return size > most ? undefined : Buffer.concat(chunks)
}

const SETTINGS = [
  // A header with a token must not be sent to another host.
  ...['-c', 'http.followRedirects=false'],
  ...['-c', 'core.hooksPath=/dev/null'],
  ...['-c', 'fetch.fsckObjects=true'],
  ...['-c', 'gc.auto=0'],
  // Git writes a fetch to one file of limited size, and does not read large objects into memory.
  ...['-c', 'fetch.unpackLimit=1'],
  ...['-c', 'core.bigFileThreshold=4m'],
]

// No `ext::` and no other transport that runs a command.
const PROTOCOLS = 'https:http:ssh:file'

// The variables by which git and ssh find their files, the user's keys and a proxy. Any other variable may hold a
// secret, and a GIT_* variable may change what git does.
const INHERITED =
  /^(?:HOME|PATH|USER|LOGNAME|SHELL|TERM|LANG|TMPDIR|TZ|LC_\w+|XDG_\w+|SSH_AUTH_SOCK|KRB5\w*|(?:https?|all|no)_proxy|SSL_CERT_(?:FILE|DIR)|CURL_CA_BUNDLE|SYSTEMROOT|USERPROFILE|APPDATA|LOCALAPPDATA|PROGRAMDATA|COMSPEC|PATHEXT|TEMP|TMP)$/i

function environmentWith(environment: NodeJS.ProcessEnv, header: string | undefined): NodeJS.ProcessEnv {
  const inherited = Object.entries(environment).filter(([name]) => INHERITED.test(name))
  return {
    ...Object.fromEntries(inherited),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'true',
    SSH_ASKPASS_REQUIRE: 'never',
    GCM_INTERACTIVE: 'never',
    GIT_SSH_COMMAND: 'ssh -oBatchMode=yes',
    GIT_ALLOW_PROTOCOL: PROTOCOLS,
    GIT_LITERAL_PATHSPECS: '1',
    ...(header !== undefined && {
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'http.extraHeader',
      GIT_CONFIG_VALUE_0: header,
    }),
  }
}

function reasonIn(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '')
  const line = lines.find((each) => each.startsWith('fatal:')) ?? lines.at(-1) ?? 'it printed no reason'
  return line.replace(/^fatal: /, '').slice(0, 200)
}
