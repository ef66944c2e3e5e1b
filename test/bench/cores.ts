import { execFileSync, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** The core that what is measured has for itself, and the one for the load, the target and the issuer. */
export const [SERVED, LOADING] = [0, 1]

const cores = availableParallelism()
const pins = cores > 1 && spawnSync('taskset', ['--version']).status === 0

/** For what may run on all of them. What starts it has left some, and it would inherit that. */
export const EVERY = `0-${cores - 1}`

/** A command that runs on this core, or these, only, where cores can be chosen. */
export function onCore(core: number | string, argv: readonly string[]): readonly string[] {
  return pins ? ['taskset', '--cpu-list', String(core), ...argv] : argv
}

/** Moves this process, and what it starts from now on, to the core of the load. */
export function leaveServedCore(): boolean {
  if (pins)
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(LOADING), String(process.pid)])
  return pins
}
