import { parseArgs } from 'node:util'
import { UsageError } from '../bench/usage-error.js'

export const HELP = `npm run faults -- [OPTIONS]

Runs three registries and two proxies behind HAProxy, each as on a machine of its own, with one PostgreSQL that they
share, and disturbs them at random: the database is stopped, silent, or without disk, and its password changes; processes
are killed and restarted. The exit code is 1 when a read failed, a document was lost or is there twice, replicas differ
at the end, or a login was lost. Ctrl-C ends the run early, with its report.

  --minutes N    how long (10)
  --seed N       the same faults in the same order; without it, another run each time
  --only NAME    only this fault, again and again; may be repeated
`

export interface Options {
  readonly help: boolean
  readonly minutes: number
  readonly seed: number
  readonly only: readonly string[]
}

export function readOptions(argv: readonly string[], known: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      only: { type: 'string', multiple: true, default: [] },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)]
  if (!(minutes > 0)) throw new UsageError('--minutes: expected a number above 0')
  if (!Number.isInteger(seed)) throw new UsageError('--seed: expected a whole number')
  const unknown = values.only.filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw new UsageError(`--only: there is no "${unknown[0]}"; known: ${known.join(', ')}`)
  return { help: values.help, minutes, seed, only: values.only }
}

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
