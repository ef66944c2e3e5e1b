import { setImmediate, setTimeout } from 'node:timers/promises'
import {
  type Booted,
  boot,
  type Capability,
  createLog,
  Health,
  IssuerMetadata,
  type List,
  type Plugin,
  Scrubber,
  StateStore,
} from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { Bench, contracts } from 'sallyport/testing'
import { isMapping } from '../config/path.js'
import { type Chart, messageOf } from '../findings/chart.js'
import type { Job } from './job.js'
import { examineOptions, sampleOptions, withCanaries } from './options.js'
import { Resources } from './resources.js'

/** Milliseconds that each step of a plugin may take here: it waits for no network. */
const LIMITS = { setup: 3_000, start: 5_000, ready: 5_000, stop: 3_000 }
const PATIENCE = 3_000

type Step = (name: string) => void

/** Looks at everything that can be seen of a plugin from outside, and answers what it logged meanwhile. */
export async function examine(
  chart: Chart,
  plugin: Plugin,
  job: Job,
  step: Step,
): Promise<string | undefined> {
  examineSummary(chart, plugin)
  step('options')
  const options = job.options ?? withCanaries(plugin, sampleOptions(plugin), job.canary)
  await examineOptions(chart, plugin, options)
  const valid = await plugin.options?.['~standard'].validate(options)
  if (valid?.issues !== undefined) {
    const advice = 'give options that it accepts, in a file, with --with FILE'
    const first = valid.issues[0]?.message ?? 'not accepted'
    chart.wrong('options', 'OPTIONS_NEEDED', `made-up options are refused: ${first}`, advice)
    return undefined
  }
  const missing = needsOf(plugin).filter(({ token }) => !helpers.some(([helped]) => helped.token === token))
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name).join(', ')
    const advice = 'hold it against its contract in a test of yours, with contractSuite of sallyport/testing'
    chart.warning('setup', 'NEEDS_OTHERS', `it is not set up alone: it needs ${names}`, advice)
    return undefined
  }
  return new Life(chart, plugin, options, job.folder, step).examine()
}

function examineSummary(chart: Chart, { summary, name, version }: Plugin): void {
  if (summary !== undefined && /^\p{Lu}.*\.$/su.test(summary)) {
    chart.ok('shape', `${name} ${version ?? 'without a version'}: ${summary}`)
  } else {
    const advice = 'give it a `summary`: what it does for the operator, in one sentence with a full stop'
    chart.wrong('shape', 'SUMMARY_MISSING', `${name} does not say what it does`, advice)
  }
}

/** Who provides what a plugin may need, when it does not bring it itself. The kernel has a health of its own. */
const helpers: readonly (readonly [Capability, List])[] = [
  [Health, []],
  [StateStore, [{ use: 'state/memory' }]],
  [IssuerMetadata, [{ use: 'discovery/issuer' }]],
]

const needsOf = ({ requires = [], provides = [] }: Plugin): readonly Capability[] =>
  requires.filter(({ token }) => !provides.some((own) => own.token === token))

/** Two gateways with the plugin, one beside the other as at every reload: both are asked, both are stopped. */
class Life {
  private readonly lines: string[] = []
  /** What cannot be looked at after something hangs or failed to start. */
  private whole = true

  constructor(
    private readonly chart: Chart,
    private readonly plugin: Plugin,
    private readonly options: unknown,
    private readonly folder: string,
    private readonly step: Step,
  ) {}

  async examine(): Promise<string> {
    const before = new Resources()
    const first = await this.begin('setup')
    if (first !== undefined) {
      await this.judge(first)
      const second = await this.begin('setup again')
      this.step('stop')
      await first.booted.stop()
      // The first took with it only what was its own.
      if (second !== undefined) await this.judge(second, 'SETUP_ONCE')
      await second?.booted.stop()
    }
    this.examineStops()
    if (this.whole) await this.examineLeaks(before)
    return this.lines.join('')
  }

  private async begin(turn: 'setup' | 'setup again'): Promise<Running | undefined> {
    this.step(turn)
    const { chart, plugin, options, folder, lines } = this
    const bench = new Bench(plugin.provides ?? [], {
      patience: PATIENCE,
      begins: (contract, { asks }) => this.step(`${contract}, which ${asks}`),
    })
    const helping = helpers.filter(([{ token }]) => needsOf(plugin).some((need) => need.token === token))
    const scrubber = new Scrubber()
    const log = createLog({ level: 'trace', stream: { write: (line) => lines.push(line) }, scrubber })
    try {
      const list = [
        { use: bench.plugin },
        ...helping.flatMap(([, list]) => list),
        { use: plugin, with: options },
      ]
      const booted = await boot(list, { catalogue, folder, log, scrubber, limits: LIMITS })
      await booted.ready({})
      await aTurn()
      return { booted, bench }
    } catch (error) {
      this.whole = false
      if (turn === 'setup') {
        const advice = 'setup wires and returns; what has to wait goes to gateway.onStart'
        chart.wrong('setup', 'SETUP_FAILED', messageOf(error), advice)
      } else chart.wrong('setup', 'SETUP_ONCE', messageOf(error), ALONE)
      return undefined
    }
  }

  /** The second time around, what was kept before and is no longer kept shares something with the first. */
  private async judge({ booted, bench }: Running, again?: 'SETUP_ONCE'): Promise<void> {
    const { chart, plugin } = this
    const wrong = chart.findings.filter(({ state }) => state === 'wrong').length
    if (again !== undefined && (wrong > 0 || !this.whole)) return
    for await (const { contract, clause, state, detail = '' } of bench.judge(booted.app)) {
      await aTurn()
      if (state === 'unsure' && again === undefined) {
        const advice = 'give options with --with for a place that can be read from here'
        chart.warning(contract, 'UNSEEN', detail, advice)
      }
      if (state !== 'broken') continue
      if (again !== undefined) chart.wrong('setup', again, `once another gateway stopped: ${detail}`, ALONE)
      else chart.wrong(contract, clause.code, detail, clause.advice)
      if (clause.code !== 'HANGS') continue
      this.whole = false
      return
    }
    const now = chart.findings.filter(({ state }) => state === 'wrong').length
    if (again === undefined) tellContracts(chart, plugin, now === wrong)
  }

  private examineStops(): void {
    for (const line of this.lines) {
      const { msg, err }: Readonly<Record<string, unknown>> = JSON.parse(line)
      if (msg !== 'a plugin did not stop cleanly') continue
      const detail = isMapping(err) ? String(err['message']) : 'it failed in stop'
      const advice =
        'let every step of gateway.onStop end, and soon: what cannot be closed is logged, not thrown'
      this.chart.wrong('stop', 'STOP_FAILED', detail, advice)
    }
  }

  /** What would keep the process alive that was not there before; it has a second to go. */
  private async examineLeaks(before: Resources): Promise<void> {
    this.step('after the stop')
    for (let turns = 20; turns > 0 && before.left().length > 0; turns--) await setTimeout(50)
    const left = before.left()
    if (left.length === 0) return this.chart.ok('stop', 'nothing is left open')
    const advice = 'end it in gateway.onStop'
    this.chart.wrong(
      'stop',
      'LEAK',
      `after the stop this is still open: ${[...new Set(left)].join(', ')}`,
      advice,
    )
  }
}

interface Running {
  readonly booted: Booted
  readonly bench: Bench
}

// Without one, promises that nobody catches are not told, and no sign of life gets out.
const aTurn = (): Promise<void> => setImmediate()

const ALONE = 'keep nothing that changes in module scope: two gateways run side by side at every reload'

function tellContracts(chart: Chart, { provides = [] }: Plugin, kept: boolean): void {
  const known = contracts.map(({ capability }) => capability.token)
  const others = provides.filter(({ token }) => !known.includes(token))
  if (others.length > 0) {
    const names = others.map(({ name }) => name).join(', ')
    const advice = 'hold it against its contract in a test of yours'
    chart.warning('contract', 'CONTRACT_UNJUDGED', `there is no suite for ${names}`, advice)
  }
  const held = provides.filter(({ token }) => known.includes(token)).map(({ name }) => name)
  if (kept && held.length > 0) chart.ok('contract', `it keeps that of ${held.join(', ')}`)
}
