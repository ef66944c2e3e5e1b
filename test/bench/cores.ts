import { execFileSync, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** The core of the measured server alone, and the core of the load, the target and the issuer. */
export const [SERVER_CORE, LOAD_CORE] = [0, 1]

const cores = availableParallelism()
const canPin = cores > 1 && spawnSync('taskset', ['--version']).status === 0

/** For programs that may use all cores: without it they inherit the core of this process. */
export const ALL_CORES = `0-${cores - 1}`

/** A command that runs only on this core, or these cores, where taskset can choose them. */
export function onCore(core: number | string, argv: readonly string[]): readonly string[] {
  return canPin ? ['taskset', '--cpu-list', String(core), ...argv] : argv
}

/** Moves this process, and every process that it starts from now on, to the core of the load. */
export function moveToLoadCore(): boolean {
  if (canPin)
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(LOAD_CORE), String(process.pid)])
  return canPin
}
