import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { ProxyKind } from './task.js'

/** Whether a proxy is installed here. */
export function installed({ needs }: ProxyKind): boolean {
  if (needs === undefined) return true
  const { command, file } = needs
  return spawnSync('which', [command]).status === 0 && (file === undefined || existsSync(file))
}
