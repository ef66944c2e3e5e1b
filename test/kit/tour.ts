import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The result of a command in a shell. */
export interface Pasted {
  readonly code: number
  readonly stdout: string
}

/** Runs a command in a shell, in another folder than the program. */
export const paste = async (line: string, cwd: string): Promise<Pasted> =>
  run('sh', ['-c', line], { cwd }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: Pasted) => ({ code, stdout }),
  )

/** The steps of the tour that `quickstart` printed, each with its title and, if it has one, its command. */
export const stopsOf = (stdout: string): string[][] =>
  stdout
    .split(/^\d+\. /m)
    .slice(1)
    .map((text) => text.trim().split('\n'))

/** Matches once the whole tour is printed. */
export const WHOLE_TOUR = /^11\. .*\n.+\n/m
