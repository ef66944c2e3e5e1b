import { setImmediate, setTimeout } from 'node:timers/promises'
import {
  type Capability,
  ConfigError,
  type Entry,
  GatewayError,
  Health,
  IssuerMetadata,
  type List,
  type Plugin,
  type SettingPath,
  StateStore,
} from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { boot, createLog, type GatewayInstance, LogScrubber, pathText, planList } from 'sallyport/embed'
import { issuerDiscovery, stateInMemory } from 'sallyport/presets/tools'
import { ConformanceRunner, conformanceSuites } from 'sallyport/testing'
import { isJsonObject, messageOf, problemLine } from 'sallyport/toolkit'
import type { FindingList } from '../findings/finding-list.js'
import type { Job } from './messages.js'
import { examineOptions, requiredPaths, sampleOptions, withCanaries } from './options.js'
import { Resources } from './resources.js'

/** Milliseconds that each step of a plugin may take here: it waits for no network. */
const LIMITS = { setup: 3_000, start: 5_000, ready: 5_000, stop: 3_000 }
const TIMEOUT = 3_000

type Step = (name: string) => void

/** Looks at everything that can be seen of a plugin from outside, and answers what it logged meanwhile. */
export async function examine(
  chart: FindingList,
  plugin: Plugin,
  job: Job,
  step: Step,
): Promise<string | undefined> {
  examineSummary(chart, plugin)
  step('options')
  const paths = job.options === undefined ? requiredPaths(plugin) : []
  if (paths.length > 0) {
    const detail = `it is not set up: no path can be made up for ${paths.join(', ')}`
    chart.warning('options', 'OPTIONS_NEEDED', detail, GIVE_OPTIONS)
  }
  const options = job.options ?? withCanaries(plugin, sampleOptions(plugin), job.canary)
  await examineOptions(chart, plugin, options)
  const valid = await plugin.options?.['~standard'].validate(options)
  if (valid?.issues !== undefined) {
    const which = job.options === undefined ? 'made-up options' : 'the options that were given'
    const why = await faultsOf({ use: plugin, with: options }, job.folder)
    chart.wrong('options', 'OPTIONS_NEEDED', `${which} are refused: ${why}`, GIVE_OPTIONS)
    return undefined
  }
  examineWarnings(chart, plugin, valid === undefined ? {} : valid.value)
  if (paths.length > 0) return undefined
  const missing = needsOf(plugin).filter(({ token }) => !helpers.some(([helped]) => helped.token === token))
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name).join(', ')
    const advice = 'test it with the plugins that it needs, with contractSuite of sallyport/testing'
    chart.warning('setup', 'NEEDS_OTHERS', `it is not set up alone: it needs ${names}`, advice)
    return undefined
  }
  return new Life(chart, plugin, options, job.folder, step).examine()
}

/** All that a start would say of the options, in one line. */
async function faultsOf(entry: Entry, folder: string): Promise<string> {
  const locate = (path: SettingPath): string => pathText(path.slice(2))
  try {
    await planList([entry], { catalogue, folder, locate, log: createLog({ level: 'error' }) })
    return 'not accepted'
  } catch (error) {
    return error instanceof ConfigError ? error.problems.map(problemLine).join('; ') : messageOf(error)
  }
}

const GIVE_OPTIONS = 'give options that it accepts, in a file, with --with FILE'

function examineSummary(chart: FindingList, { summary, name, version }: Plugin): void {
  const fault = summary === undefined ? 'has no summary' : summaryFault(summary)
  if (fault === undefined) {
    chart.ok('shape', `${name} ${version ?? 'without a version'}: ${summary}`)
    return
  }
  const advice =
    'give it a `summary`: what it does for the operator, in one sentence with a capital letter and a full stop'
  chart.wrong('shape', 'SUMMARY_MISSING', `${name} ${fault}`, advice)
}

function summaryFault(summary: string): string | undefined {
  const faults = [
    !/^\p{Lu}/u.test(summary) && 'does not begin with a capital letter',
    !summary.endsWith('.') && 'does not end with a full stop',
  ].filter((fault) => fault !== false)
  return faults.length === 0 ? undefined : `has a summary that ${faults.join(' and ')}: "${summary}"`
}

/** Who provides what a plugin may need, when it does not bring it itself. The kernel has a health of its own. */
const helpers: readonly (readonly [Capability, List])[] = [
  [Health, []],
  [StateStore, stateInMemory],
  [IssuerMetadata, issuerDiscovery],
]

const needsOf = ({ requires = [], provides = [] }: Plugin): readonly Capability[] =>
  requires.filter(({ token }) => !provides.some((own) => own.token === token))

/** Two gateways with the plugin, one beside the other as at every reload: both are asked, both are stopped. */
class Life {
  private readonly lines: string[] = []
  /** What cannot be looked at after something hangs or failed to start. */
  private whole = true

  constructor(
    private readonly chart: FindingList,
    private readonly plugin: Plugin,
    private readonly options: unknown,
    private readonly folder: string,
    private readonly step: Step,
  ) {}

  async examine(): Promise<string> {
    const before = new Resources()
    const first = await this.begin('setup')
    if (first !== undefined) {
      await this.test(first)
      const second = await this.begin('setup again')
      this.step('stop')
      await first.booted.stop()
      // The first took with it only what was its own.
      if (second !== undefined) await this.test(second, 'SETUP_ONCE')
      await second?.booted.stop()
    }
    this.examineStops()
    if (this.whole) await this.examineLeaks(before)
    return this.lines.join('')
  }

  private async begin(turn: 'setup' | 'setup again'): Promise<Running | undefined> {
    this.step(turn)
    const { chart, plugin, options, folder, lines } = this
    const runner = new ConformanceRunner(plugin.provides ?? [], {
      timeout: TIMEOUT,
      onCheck: (capability, { statement }) => this.step(`${capability}, which ${statement}`),
    })
    const helping = helpers.filter(([{ token }]) => needsOf(plugin).some((need) => need.token === token))
    const scrubber = new LogScrubber()
    const log = createLog({ level: 'trace', stream: { write: (line) => lines.push(line) }, scrubber })
    try {
      const list = [
        { use: runner.plugin },
        ...helping.flatMap(([, list]) => list),
        { use: plugin, with: options },
      ]
      const booted = await boot(list, { catalogue, folder, log, scrubber, limits: LIMITS })
      await booted.ready({})
      await aTurn()
      return { booted, runner }
    } catch (error) {
      this.whole = false
      if (error instanceof Error && breaksContract(error)) {
        const advice = '"Write a plugin" in plugins/README.md says what a plugin owes the gateway'
        chart.wrong('contract', 'CONTRACT_BROKEN', messageOf(error), advice)
      } else if (turn === 'setup') {
        const advice = 'setup wires and returns; what has to wait goes to gateway.onStart'
        chart.wrong('setup', 'SETUP_FAILED', messageOf(error), advice)
      } else chart.wrong('setup', 'SETUP_ONCE', messageOf(error), ALONE)
      return undefined
    }
  }

  /** The second time around, what was kept before and is no longer kept shares something with the first. */
  private async test({ booted, runner }: Running, again?: 'SETUP_ONCE'): Promise<void> {
    const { chart, plugin } = this
    const wrong = chart.findings.filter(({ state }) => state === 'wrong').length
    if (again !== undefined && (wrong > 0 || !this.whole)) return
    for await (const { capability, requirement, state, detail = '' } of runner.run(booted.app)) {
      await aTurn()
      if (state === 'inconclusive' && again === undefined) {
        const advice = 'give options with --with for a place that can be read from here'
        chart.warning(capability, 'UNSEEN', detail, advice)
      }
      if (state !== 'failed') continue
      if (again !== undefined) chart.wrong('setup', again, `once another gateway stopped: ${detail}`, ALONE)
      else chart.wrong(capability, requirement.code, detail, requirement.advice)
      if (requirement.code !== 'HANGS') continue
      this.whole = false
      return
    }
    const now = chart.findings.filter(({ state }) => state === 'wrong').length
    if (again === undefined) reportContract(chart, plugin, now === wrong)
  }

  private examineStops(): void {
    for (const line of this.lines) {
      const { msg, err }: Readonly<Record<string, unknown>> = JSON.parse(line)
      if (msg !== 'a plugin did not stop cleanly') continue
      const detail = isJsonObject(err) ? String(err['message']) : 'it failed in stop'
      const advice =
        'let every step of gateway.onStop end, and soon: what cannot be closed is logged, not thrown'
      this.chart.wrong('stop', 'STOP_FAILED', detail, advice)
    }
  }

  /** What would keep the process alive that was not there before; it has a second to go. */
  private async examineLeaks(before: Resources): Promise<void> {
    this.step('after the stop')
    for (let turns = 20; turns > 0 && before.leaked().length > 0; turns--) await setTimeout(50)
    const left = before.leaked()
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

const breaksContract = ({ cause }: { readonly cause?: unknown }): boolean =>
  cause instanceof GatewayError && cause.code === 'CONTRACT_BROKEN'

interface Running {
  readonly booted: GatewayInstance
  readonly runner: ConformanceRunner
}

// Without one, promises that nobody catches are not told, and no sign of life gets out.
const aTurn = (): Promise<void> => setImmediate()

const ALONE = 'keep nothing that changes in module scope: two gateways run side by side at every reload'

function reportContract(chart: FindingList, { provides = [] }: Plugin, passed: boolean): void {
  const known = conformanceSuites.map(({ capability }) => capability.token)
  const others = provides.filter(({ token }) => !known.includes(token))
  if (others.length > 0) {
    const names = others.map(({ name }) => name).join(', ')
    const advice = 'test what it does in a test of yours'
    chart.warning('contract', 'CONTRACT_UNJUDGED', `there is no suite for ${names}`, advice)
  }
  const held = provides.filter(({ token }) => known.includes(token)).map(({ name }) => name)
  if (passed && held.length > 0) chart.ok('contract', `it keeps that of ${held.join(', ')}`)
}

const FORM = 'return a list of { place, message }, or an empty one; `place` is a path in the options'

/** What the plugin says of options that it accepts. A start logs it, where secrets are looked for. */
function examineWarnings(chart: FindingList, plugin: Plugin, options: unknown): void {
  if (plugin.warnings === undefined) return
  let warnings: unknown
  try {
    // It gets what its own schema returned, which is what it is typed for.
    warnings = plugin.warnings(options as never)
  } catch (error) {
    const detail = `it fails in warnings: ${messageOf(error)}`
    chart.wrong('warnings', 'WARNINGS_FAILED', detail, FORM)
    return
  }
  if (!Array.isArray(warnings) || !warnings.every(isProblem)) {
    chart.wrong('warnings', 'WARNINGS_MALFORMED', 'what warnings returns is no list of problems', FORM)
  } else chart.ok('warnings', 'it answers for options that it accepts')
}

const isProblem = (value: unknown): boolean =>
  isJsonObject(value) && typeof value['place'] === 'string' && typeof value['message'] === 'string'
