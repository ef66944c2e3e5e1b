import { spawnSync } from 'node:child_process'
import type { ProxyKind } from './task.js'

/** Whether a proxy can be started here. */
export function installed({ needs }: ProxyKind): boolean {
  return needs === undefined || spawnSync('which', [needs.command]).status === 0
}
