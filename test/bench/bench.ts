import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { proxies } from './anchors/proxies.js'
import { endAll } from './contestant.js'
import { leaveServedCore } from './cores.js'
import { installed } from './installed.js'
import { HELP, type Options, readOptions } from './options.js'
import { root } from './place.js'
import { reached } from './reach.js'
import type { Results } from './results.js'
import { type Row, rows } from './rows/rows.js'
import { asText } from './table.js'
import { createWorld, FULL, QUICK } from './world.js'

const options = readOptions(process.argv.slice(2))
const print = (text: string): void => void process.stdout.write(`${text}\n`)
const tell = (text: string): void => void process.stderr.write(`${text}\n`)
process.once('exit', endAll)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

if (options.help) print(HELP)
else if (options.list) print(rows.map(({ key }) => key).join('\n'))
else {
  const results = options.from === undefined ? await measured(options) : read(options.from)
  print(options.json ? JSON.stringify(results, null, 2) : asText(results))
}

function read(file: string): Results {
  return JSON.parse(readFileSync(file, 'utf8'))
}

async function measured({ quick, only, 'no-build': asItIs }: Options): Promise<Results> {
  if (process.platform !== 'linux')
    throw new Error('processor time is read from /proc, which Linux alone has')
  const chosen = rows.filter(({ key }) => only.length === 0 || only.some((word) => isMeant(key, word)))
  if (chosen.length === 0) throw new Error(`no row holds ${only.join(' or ')}; --list names them`)
  const missing = proxies.flatMap((proxy) =>
    installed(proxy) || proxy.needs === undefined
      ? []
      : [`${proxy.name} is not installed: apt-get install ${proxy.needs.packages}`],
  )
  for (const line of missing) tell(line)
  if (!asItIs) execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' })

  const pinned = leaveServedCore()
  const found = await ask(chosen, quick)
  return {
    command: ['npm run bench', ...(quick ? ['--quick'] : [])].join(' -- '),
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    pinned,
    missing,
    ...found,
    reach: reached(found),
  }
}

/** A word is the key of a row, or stands in the keys of several. */
function isMeant(key: string, word: string): boolean {
  return rows.some((row) => row.key === word) ? key === word : key.includes(word)
}

async function ask(chosen: readonly Row[], quick: boolean): Promise<Pick<Results, 'calls' | 'figures'>> {
  const world = await createWorld(quick ? QUICK : FULL)
  const found = { calls: [] as Results['calls'][number][], figures: [] as Results['figures'][number][] }
  try {
    for (const [index, row] of chosen.entries()) {
      tell(`${index + 1} of ${chosen.length}: ${row.key}`)
      const { calls = [], figures = [] } = await row.measure(world)
      found.calls.push(...calls)
      found.figures.push(...figures)
    }
  } finally {
    world.close()
  }
  return found
}
