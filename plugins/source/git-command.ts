import { spawn } from 'node:child_process'
import { buffer } from 'node:stream/consumers'
import { GatewayError } from 'sallyport'

export interface GitOptions {
  readonly signal: AbortSignal
  /** Where it runs. */
  readonly folder: string
  readonly environment: NodeJS.ProcessEnv
  /** A header for the server, such as `Authorization: Basic ...`. It travels in the environment: arguments can be read by every user of the machine. */
  readonly header?: string | undefined
  readonly input?: string
}

/** Runs the system's git, without a shell, a prompt, or a way for the other side to choose what runs here. */
export async function git(args: readonly string[], options: GitOptions): Promise<Buffer> {
  const { signal, folder, environment, header, input } = options
  signal.throwIfAborted()
  const child = spawn('git', [...SETTINGS, ...args], {
    cwd: folder,
    env: environmentWith(environment, header),
    stdio: ['pipe', 'pipe', 'pipe'],
    // Its helpers, such as the one that speaks https, are in its group, and are ended with it.
    detached: process.platform !== 'win32',
  })
  const end = (): void => {
    if (child.pid === undefined) return
    try {
      process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
  signal.addEventListener('abort', end, { once: true })
  try {
    const left = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const [out, complaint, code] = await Promise.all([buffer(child.stdout), buffer(child.stderr), left])
    signal.throwIfAborted()
    if (code === 0) return out
    throw new GatewayError('GIT_FAILED', `git ${args[0]} failed: ${reasonIn(complaint.toString('utf8'))}`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new GatewayError('GIT_MISSING', 'git is not installed on this machine', { cause: error })
  } finally {
    signal.removeEventListener('abort', end)
  }
}

const SETTINGS = [
  // A header with a token must not follow to another host.
  ...['-c', 'http.followRedirects=false'],
  ...['-c', 'core.hooksPath=/dev/null'],
  ...['-c', 'fetch.fsckObjects=true'],
  ...['-c', 'gc.auto=0'],
]

// No `ext::` and no other transport that runs a command.
const PROTOCOLS = 'https:http:ssh:file'

function environmentWith(environment: NodeJS.ProcessEnv, header: string | undefined): NodeJS.ProcessEnv {
  // What steers a git that somebody else runs is none of its business.
  const inherited = Object.entries(environment).filter(([name]) => !name.startsWith('GIT_'))
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

function reasonIn(complaint: string): string {
  const lines = complaint.split('\n').filter((line) => line.trim() !== '')
  const line = lines.find((each) => each.startsWith('fatal:')) ?? lines.at(-1) ?? 'it said nothing'
  return line.replace(/^fatal: /, '').slice(0, 200)
}
