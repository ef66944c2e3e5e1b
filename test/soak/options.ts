import { parseArgs } from 'node:util'
import { UsageError } from '../bench/usage-error.js'

export const HELP = `npm run soak -- [OPTIONS]

Runs the built proxy and registry at half of their capacity here, and disturbs them: the target restarts, the issuer
signs with new keys, clients are slow or disconnect, the disk of the log is full, and the gateways reload their
configuration. The exit code is 1 when a call failed that should not fail, when memory, handles or timers grew, or when
files stayed open.

  --minutes N    how long (30); at least 2
  --json         print the report as JSON
  --bin FILE     the program, instead of the one that is built from here
`

export interface Options {
  readonly help: boolean
  readonly json: boolean
  readonly minutes: number
  readonly bin: string | undefined
}

export function readOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      minutes: { type: 'string', default: '30' },
      json: { type: 'boolean', default: false },
      bin: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const minutes = Number(values.minutes)
  if (!(minutes >= 2)) throw new UsageError('--minutes: expected a number of 2 or more')
  return { help: values.help, json: values.json, minutes, bin: values.bin }
}
