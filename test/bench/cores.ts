import { execFileSync, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** The core that what is measured has for itself, and the one for the load, the target and the issuer. */
export const [SERVED, LOADING] = [0, 1]

const pins = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0

/** A command that runs on this core only, where cores can be chosen. */
export function onCore(core: number, argv: readonly string[]): readonly string[] {
  return pins ? ['taskset', '--cpu-list', String(core), ...argv] : argv
}

/** Moves this process, and what it starts from now on, to the core of the load. */
export function leaveServedCore(): boolean {
  if (pins)
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(LOADING), String(process.pid)])
  return pins
}
