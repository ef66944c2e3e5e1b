import { cpus, loadavg } from 'node:os'
import { createContext, FULL, QUICK } from './context.js'
import { moveToLoadCore } from './cores.js'
import { goalResults } from './goals.js'
import { installed } from './installed.js'
import type { Options } from './options.js'
import { proxies } from './proxies/all.js'
import type { CallResult, Figure, Results } from './results.js'
import { type Row, rows } from './rows/rows.js'
import { UsageError } from './usage-error.js'

/** Minutes that a row may take: a row that hangs is a failure. */
const LIMIT = 15

/** Rows that a quick run omits unless `--only` names them: other rows show almost the same. */
const OMITTED_IF_QUICK = new Set([
  'headers',
  'tls-headers',
  'access-log',
  'es256',
  'es256-new',
  'exchange',
  'registry-search',
  'registry-get',
])

const log = (text: string): void => void process.stderr.write(`${text}\n`)

/** Measures the chosen rows. */
export async function measured({ quick, only }: Options): Promise<Results> {
  if (process.platform !== 'linux')
    throw new UsageError('processor time is read from /proc, which Linux alone has')
  const chosen = rows.filter(({ key }) =>
    only.length === 0 ? !(quick && OMITTED_IF_QUICK.has(key)) : only.some((word) => isMeant(key, word)),
  )
  if (chosen.length === 0) throw new UsageError(`no row holds ${only.join(' or ')}; --list names them`)
  // Debian installs servers there, which is not in every user's PATH.
  process.env['PATH'] += ':/usr/sbin'
  // Node 20 reads these certificates at every start, longer than the start itself takes, which would improve our
  // ratios.
  delete process.env['NODE_EXTRA_CA_CERTS']
  const missing = proxies.flatMap((proxy) =>
    installed(proxy) || proxy.needs === undefined
      ? []
      : [`${proxy.name} is not installed: apt-get install ${proxy.needs.packages}`],
  )
  for (const line of missing) log(line)
  const [busy = 0] = loadavg()
  if (busy > 0.5)
    log(
      `other programs use this machine (load ${busy.toFixed(1)}): only the ratios count, and they are less exact`,
    )

  const pinned = moveToLoadCore()
  const found = await measureRows(chosen, quick)
  return {
    command: commandOf(quick, only),
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    pinned,
    busy,
    missing,
    ...found,
    reach: goalResults(found),
  }
}

function commandOf(quick: boolean, only: readonly string[]): string {
  const flags = [...(quick ? ['--quick'] : []), ...only.map((word) => `--only ${word}`)]
  return ['npm run bench', ...(flags.length > 0 ? ['--', ...flags] : [])].join(' ')
}

/** Whether a word is the key of this row, or a part of it and no key itself. */
function isMeant(key: string, word: string): boolean {
  return rows.some((row) => row.key === word) ? key === word : key.includes(word)
}

async function measureRows(
  chosen: readonly Row[],
  quick: boolean,
): Promise<Pick<Results, 'calls' | 'figures'>> {
  const context = await createContext(quick ? QUICK : FULL)
  const found = { calls: [] as CallResult[], figures: [] as Figure[] }
  try {
    for (const [index, row] of chosen.entries()) {
      log(`${index + 1} of ${chosen.length}: ${row.key}`)
      const { calls = [], figures = [] } = await withinLimit(row, row.measure(context))
      found.calls.push(...calls)
      found.figures.push(...figures)
    }
  } finally {
    context.close()
  }
  return found
}

function withinLimit<Value>({ key }: Row, work: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const late = (): void =>
      reject(new UsageError(`${key} has not ended after ${LIMIT} minutes: is the machine busy?`))
    const timer = setTimeout(late, LIMIT * 60_000)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
