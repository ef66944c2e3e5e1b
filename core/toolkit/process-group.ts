import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'

const SHELL = '/bin/sh'

/**
 * The supervisor: a shell between this process and the program, in a process group with the program. It reads a pipe
 * to which this process writes nothing: the pipe closes when this process ends, even by kill -9, and then the
 * supervisor kills the whole group. Its reader ignores signals, so that it outlives the rest of the group. The first
 * argument is the largest file that the program may write, in blocks of 512 bytes as in POSIX.
 */
const SUPERVISOR = `
trap : TERM INT HUP
[ "$1" = unlimited ] || ulimit -f "$1" 2>/dev/null || [ "$(ulimit -f)" != unlimited ] || exit 126
shift
exec 5<&0 </dev/null
( trap '' TERM INT HUP; exec 5<&- >/dev/null 2>&1; while read -r _ <&3; do :; done; kill -9 -$$ ) &
"$@" <&5 3<&- 5<&- &
child=$!
exec 5<&-
while :; do
  wait "$child" 2>/dev/null; code=$?
  kill -0 "$child" 2>/dev/null || exit "$code"
done
`

export interface ProcessGroupOptions {
  readonly env: NodeJS.ProcessEnv
  /** The working directory of the program. */
  readonly cwd?: string
  /** The size limit of each file that the program writes. */
  readonly maxFileBytes?: number
}

/**
 * Starts a program that ends when this process does; no shell interprets its arguments. The program gets its own
 * process group, which `signalGroup` signals as a whole. Without `/bin/sh` the program starts without the
 * supervisor. Throws when the process may open no more files.
 */
export function spawnProcessGroup(
  argv: readonly string[],
  { env, cwd, maxFileBytes }: ProcessGroupOptions,
): ChildProcessWithoutNullStreams {
  const most = maxFileBytes === undefined ? 'unlimited' : String(Math.ceil(maxFileBytes / 512))
  const isSupervised = process.platform !== 'win32' && existsSync(SHELL)
  const line = isSupervised ? [SHELL, '-c', SUPERVISOR, 'sallyport-supervisor', most, ...argv] : argv
  const [file = '', ...rest] = line
  const child = spawn(file, rest, {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'pipe', ...(isSupervised ? (['pipe'] as const) : [])],
    detached: process.platform !== 'win32',
  })
  // When no file descriptor is left for its pipes, the child has no streams, and emits its error later.
  if (!child.stdin) {
    child.on('error', () => {})
    throw Object.assign(
      new Error(
        `${argv[0]} cannot be started: this process has reached its limit of open files (EMFILE); raise that limit`,
      ),
      { code: 'EMFILE' },
    )
  }
  for (const stream of child.stdio) stream?.on('error', () => {})
  return child as ChildProcessWithoutNullStreams
}

/** Sends a signal to a program and all processes that it started. */
export function signalGroup(
  { pid }: Pick<ChildProcessWithoutNullStreams, 'pid'>,
  signal: NodeJS.Signals,
): void {
  if (pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal)
  } catch {
    // The group has ended.
  }
}
