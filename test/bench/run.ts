import { cpus, loadavg } from 'node:os'
import { proxies } from './anchors/proxies.js'
import { leaveServedCore } from './cores.js'
import { installed } from './installed.js'
import { Misuse } from './misuse.js'
import type { Options } from './options.js'
import { reached } from './reach.js'
import type { CallResult, Figure, Results } from './results.js'
import { type Row, rows } from './rows/rows.js'
import { createWorld, FULL, QUICK } from './world.js'

/** Minutes that a row may take: something that hangs is a failure and not a long run. */
const LIMIT = 15

/** Rows that a quick run leaves out unless they are asked for: they tell least that others do not. */
const LIKE_OTHERS = new Set([
  'headers',
  'tls-headers',
  'access-log',
  'es256',
  'es256-new',
  'exchange',
  'registry-search',
  'registry-get',
])

const tell = (text: string): void => void process.stderr.write(`${text}\n`)

/** Builds, and measures the rows that were asked for. */
export async function measured({ quick, only }: Options): Promise<Results> {
  if (process.platform !== 'linux')
    throw new Misuse('processor time is read from /proc, which Linux alone has')
  const chosen = rows.filter(({ key }) =>
    only.length === 0 ? !(quick && LIKE_OTHERS.has(key)) : only.some((word) => isMeant(key, word)),
  )
  if (chosen.length === 0) throw new Misuse(`no row holds ${only.join(' or ')}; --list names them`)
  // Where Debian puts servers, and where not everybody's shell looks.
  process.env['PATH'] += ':/usr/sbin'
  // Node 20 reads these certificates whenever it starts, which takes longer than the start itself: ratios to that would flatter.
  delete process.env['NODE_EXTRA_CA_CERTS']
  const missing = proxies.flatMap((proxy) =>
    installed(proxy) || proxy.needs === undefined
      ? []
      : [`${proxy.name} is not installed: apt-get install ${proxy.needs.packages}`],
  )
  for (const line of missing) tell(line)
  const [busy = 0] = loadavg()
  if (busy > 0.5)
    tell(`others use this machine (load ${busy.toFixed(1)}): look at ratios only, and at those with doubt`)

  const pinned = leaveServedCore()
  const found = await ask(chosen, quick)
  return {
    command: commandOf(quick, only),
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    pinned,
    busy,
    missing,
    ...found,
    reach: reached(found),
  }
}

function commandOf(quick: boolean, only: readonly string[]): string {
  const flags = [...(quick ? ['--quick'] : []), ...only.map((word) => `--only ${word}`)]
  return ['npm run bench', ...(flags.length > 0 ? ['--', ...flags] : [])].join(' ')
}

/** A word is the key of a row, or stands in the keys of several. */
function isMeant(key: string, word: string): boolean {
  return rows.some((row) => row.key === word) ? key === word : key.includes(word)
}

async function ask(chosen: readonly Row[], quick: boolean): Promise<Pick<Results, 'calls' | 'figures'>> {
  const world = await createWorld(quick ? QUICK : FULL)
  const found = { calls: [] as CallResult[], figures: [] as Figure[] }
  try {
    for (const [index, row] of chosen.entries()) {
      tell(`${index + 1} of ${chosen.length}: ${row.key}`)
      const { calls = [], figures = [] } = await withinLimit(row, row.measure(world))
      found.calls.push(...calls)
      found.figures.push(...figures)
    }
  } finally {
    world.close()
  }
  return found
}

function withinLimit<Value>({ key }: Row, work: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const late = (): void =>
      reject(new Misuse(`${key} is not over after ${LIMIT} minutes: is the machine busy?`))
    const timer = setTimeout(late, LIMIT * 60_000)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
