import { type ChildProcess, spawn } from 'node:child_process'
import { readLines } from './lines.js'

export interface Leashed {
  /** Settles when nothing of it runs any more, with how it ended. */
  readonly ended: Promise<string>
  /** Asks it to end, and ends it with all its processes if it takes too long. */
  end(): Promise<void>
}

/**
 * Stands between this process and the program, in a process group of their own. It holds a pipe on which nothing ever
 * comes: the pipe ends with this process, however that ends, kill -9 too, and then the whole group is killed. The
 * reader stays until the group is swept, so that no moment is without it.
 */
const LEASH = `
trap : TERM INT HUP
exec 3<&0 </dev/null
( trap '' TERM INT HUP; while read -r _ <&3; do :; done; kill -9 -$$ ) &
"$@" 3<&- &
child=$!
while :; do
  wait "$child" 2>/dev/null; code=$?
  kill -0 "$child" 2>/dev/null || exit "$code"
done
`

// Time for what is on its way, and for the other side to be told.
const GRACE = 3_000
// What left the group, and so outlived it, may still hold the pipes.
const LAST_WORDS = 1_000

/** Runs a program that ends when this process does, without a shell reading a word of its arguments. */
export function leashed(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  tell: (line: string) => void,
): Leashed {
  const child = spawn('/bin/sh', ['-c', LEASH, 'sallyport-leash', ...argv], {
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  child.stdin.on('error', () => {})
  readLines(child.stdout, tell)
  readLines(child.stderr, tell)

  let over = false
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    child.once('exit', () => {
      over = true
      signalGroup(child, 'SIGKILL')
      child.stdin.destroy()
      const hush = setTimeout(() => {
        child.stdout.destroy()
        child.stderr.destroy()
      }, LAST_WORDS)
      child.once('close', () => clearTimeout(hush))
    })
    child.once('close', (code, signal) =>
      resolve(signal === null ? `ended with ${code}` : `ended by ${signal}`),
    )
  })
  return {
    ended,
    async end() {
      if (!over) signalGroup(child, 'SIGTERM')
      const enough = setTimeout(() => signalGroup(child, 'SIGKILL'), GRACE)
      await ended
      clearTimeout(enough)
    },
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // Nobody of it is left.
  }
}
