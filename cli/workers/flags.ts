import { availableParallelism } from 'node:os'
import type { Invocation, Option } from '../line/option.js'

/** For the commands that serve on a port. */
export const workers = {
  name: 'workers',
  type: 'count',
  min: 1,
  max: 256,
  placeholder: 'COUNT',
  default: '1',
  help: 'Processes that serve the same port; auto starts one for each core',
} as const satisfies Option

/** 1 for a command without the flag. */
export function workerCount({ options }: Invocation): number {
  const value = options.get(workers.name)?.value
  if (value === 'auto') return Math.min(availableParallelism(), workers.max)
  return typeof value === 'number' ? value : 1
}
