import type { Readable } from 'node:stream'
import { GatewayError } from 'sallyport'
import { signalGroup, spawnProcessGroup } from 'sallyport/toolkit'

export interface GitOptions {
  readonly signal: AbortSignal
  readonly folder: string
  readonly environment: NodeJS.ProcessEnv
  /** A header for the server, such as `Authorization: Basic ...`. It is passed in the environment: every user of the machine can read arguments. */
  readonly header?: string | undefined
  readonly input?: string
  /** The most bytes of its output. */
  readonly maxOutput?: number
  /** The most bytes that it may write to one file. */
  readonly maxFileBytes?: number
}

/** Runs the system's git without a shell or prompts, and with nothing by which a repository could run a command here. */
export async function runGit(args: readonly string[], options: GitOptions): Promise<Buffer> {
  const { signal, folder, environment, header, input, maxFileBytes } = options
  signal.throwIfAborted()
  const child = spawnProcessGroup(['git', ...SETTINGS, ...args], {
    cwd: folder,
    env: environmentWith(environment, header),
    ...(maxFileBytes !== undefined && { maxFileBytes }),
  })
  // Its child processes, such as git-remote-https, are in its group, and are killed with it.
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
// For a list of files: that of a hostile repository may be endless.
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
  // What is fetched goes to one file of limited size, and large objects in it are not read into memory.
  ...['-c', 'fetch.unpackLimit=1'],
  ...['-c', 'core.bigFileThreshold=4m'],
]

// No `ext::` and no other transport that runs a command.
const PROTOCOLS = 'https:http:ssh:file'

// What git and ssh need to find their files, the user's keys and a proxy. Any other may hold a secret, and a GIT_* variable
// may change what git does.
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
