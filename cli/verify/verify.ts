import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { type Booted, boot, createLog, Health, type Plugin, Scrubber } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { type Chart, messageOf } from '../findings/chart.js'
import { judgeAuditSink, judged, judgeSource, type Provided } from './contracts.js'
import { examineOptions, sampleOptions, withCanaries } from './options.js'
import { listenToOutput } from './output.js'
import { needsOf, probe } from './probe.js'

/** Milliseconds that each step of a plugin may take here: it waits for no network. */
const LIMITS = { setup: 3_000, start: 5_000, ready: 5_000, stop: 3_000 }

type Options = Readonly<Record<string, unknown>>

/** Holds a plugin against what every plugin must do, and against the contracts of what it provides. */
export async function verifyPlugin(
  chart: Chart,
  plugin: Plugin,
  given: Options | undefined,
  folder: string,
): Promise<void> {
  examineSummary(chart, plugin)
  const canary = `canary${randomBytes(12).toString('hex')}`
  const options = given ?? withCanaries(plugin, sampleOptions(plugin), canary)
  await examineOptions(chart, plugin, options)
  const valid = await plugin.options?.['~standard'].validate(options)
  if (valid?.issues !== undefined) {
    const advice = 'give options that it accepts, in a file, with --with FILE'
    const first = valid.issues[0]?.message ?? 'not accepted'
    return chart.wrong('options', 'OPTIONS_NEEDED', `made-up options are refused: ${first}`, advice)
  }
  const missing = needsOf(plugin).filter(({ token }) => token !== Health.token)
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name).join(', ')
    const advice = 'hold it against its contract in a test of yours, with sallyport/testing'
    return chart.warning('setup', 'NEEDS_OTHERS', `it is not set up alone: it needs ${names}`, advice)
  }
  await examineLife(chart, plugin, options, { folder, canary })
}

function examineSummary(chart: Chart, { summary, name, version }: Plugin): void {
  if (summary !== undefined && /^\p{Lu}.*\.$/su.test(summary)) {
    chart.ok('shape', `${name} ${version ?? 'without a version'}: ${summary}`)
  } else {
    const advice = 'give it a `summary`: what it does for the operator, in one sentence with a full stop'
    chart.wrong('shape', 'SUMMARY_MISSING', `${name} does not say what it does`, advice)
  }
}

interface Around {
  readonly folder: string
  readonly canary: string
}

/** Boots it twice, asks it, stops it, and looks at what is left. */
async function examineLife(chart: Chart, plugin: Plugin, options: Options, around: Around): Promise<void> {
  const before = resources()
  const heard = listenToOutput()
  let lines = ''
  const stream = {
    write(line: string) {
      lines += line
    },
  }
  let alive = true
  try {
    // The second time finds what the first one left in module scope.
    for (const turn of ['once', 'again'] as const) {
      alive = await examineTurn(chart, plugin, options, { ...around, stream, turn })
      if (!alive) break
    }
  } finally {
    heard.stop()
  }
  // A step that is not done yet has not been asked to leave either.
  if (alive) await examineLeaks(chart, before)
  const told = lines + heard.text
  if (told.includes(around.canary)) {
    const advice = 'open it with secretFrom and gateway.scrubber, and log no options'
    chart.wrong('secrets', 'SECRET_TOLD', 'a secret of its options is in the log or in its output', advice)
  } else chart.ok('secrets', 'none of its options is in the log')
  if (heard.text !== '') {
    const advice = 'use gateway.log: stdout belongs to the protocol under `proxy stdio`'
    chart.warning('output', 'OUTPUT', 'it writes to stdout or stderr past the log', advice)
  }
}

interface Turn extends Around {
  readonly stream: { write(line: string): void }
  readonly turn: 'once' | 'again'
}

async function examineTurn(chart: Chart, plugin: Plugin, options: Options, turn: Turn): Promise<boolean> {
  const { folder, stream } = turn
  const scrubber = new Scrubber()
  let provided: Provided | undefined
  let booted: Booted | undefined
  const first = turn.turn === 'once'
  try {
    const list = [{ use: probe(chart, (found) => (provided = found)) }, { use: plugin, with: options }]
    const log = createLog({ level: 'trace', stream, scrubber })
    booted = await boot(list, { catalogue, folder, log, scrubber, limits: LIMITS })
    await booted.ready({})
    if (first && provided !== undefined) await examineContracts(chart, plugin, provided, booted)
    return true
  } catch (error) {
    const advice = first
      ? 'setup wires and returns; what has to wait goes to gateway.onStart'
      : 'keep nothing that changes in module scope: two gateways can run in one process'
    chart.wrong('setup', first ? 'SETUP_FAILED' : 'SETUP_ONCE', messageOf(error), advice)
    return false
  } finally {
    await booted?.stop()
  }
}

async function examineContracts(
  chart: Chart,
  plugin: Plugin,
  provided: Provided,
  booted: Booted,
): Promise<void> {
  const count = chart.findings.length
  for (const request of requests()) await booted.app.inject(request)
  for (const sink of provided.auditSinks) judgeAuditSink(chart, sink)
  for (const source of provided.sources) await judgeSource(chart, source)
  const kinds = (plugin.provides ?? []).map(({ name }) => name)
  const known = judged.map(({ name }) => name)
  const others = kinds.filter((name) => !known.includes(name))
  if (others.length > 0) {
    const advice = 'hold it against its contract in a test of yours, with sallyport/testing'
    chart.warning('contract', 'CONTRACT_UNJUDGED', `there is no suite for ${others.join(', ')}`, advice)
  }
  const held = kinds.filter((name) => known.includes(name))
  if (chart.findings.length === count && held.length > 0)
    chart.ok('contract', `it keeps that of ${held.join(', ')}`)
}

const NONSENSE = [
  'a',
  '..',
  'e30.e30.',
  'eyJhbGciOiJub25lIn0.e30.',
  'eyJ'.repeat(3000),
  'sample',
  'A'.repeat(64),
]

function requests() {
  const plain = [
    { url: '/verify' },
    { url: '/nowhere', headers: { origin: 'null', host: 'elsewhere.example' } },
    { url: `/verify?${'x'.repeat(8000)}` },
    { url: '/verify', headers: { 'x-forwarded-for': '::1', 'content-type': '' } },
  ]
  const tokens = NONSENSE.map((token) => ({ url: '/verify', headers: { authorization: `Bearer ${token}` } }))
  return [...plain, ...tokens].flatMap((request) => [
    { ...request, method: 'GET' as const },
    { ...request, method: 'POST' as const, payload: '{' },
  ])
}

const resources = (): readonly string[] =>
  process
    .getActiveResourcesInfo()
    .filter((name) => !/^(?:TTYWrap|PipeWrap|FSReqPromise|Immediate)$/.test(name))

/** What would keep the process alive that was not there before; it has a second to go. */
async function examineLeaks(chart: Chart, before: readonly string[]): Promise<void> {
  for (let turns = 20; turns > 0 && newIn(before).length > 0; turns--) await setTimeout(50)
  const left = newIn(before)
  if (left.length === 0) return chart.ok('stop', 'nothing is left open')
  const advice = 'end it in gateway.onStop'
  chart.wrong('stop', 'LEAK', `after the stop this is still open: ${[...new Set(left)].join(', ')}`, advice)
}

function newIn(before: readonly string[]): readonly string[] {
  const known = [...before]
  return resources().filter((name) => {
    const at = known.indexOf(name)
    if (at >= 0) known.splice(at, 1)
    return at < 0
  })
}
