import { availableParallelism } from 'node:os'
import type { Invocation, Option } from './option.js'

/** For the commands that serve on a port. */
export const workers = {
  name: 'workers',
  type: 'count',
  min: 1,
  max: 256,
  placeholder: 'COUNT',
  default: '1',
  help: 'Processes that answer on the same port; auto starts one for each core',
} as const satisfies Option

/** How many processes were asked for; one by a command that knows no others. */
export function workerCount({ given }: Invocation): number {
  const value = given.get(workers.name)?.value
  if (value === 'auto') return Math.min(availableParallelism(), workers.max)
  return typeof value === 'number' ? value : 1
}
