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

/** Milliseconds for each step of a plugin: here it needs no network. */
const LIMITS = { setup: 3_000, start: 5_000, ready: 5_000, stop: 3_000 }
const TIMEOUT = 3_000

type Step = (name: string) => void

/** Checks everything about a plugin that is visible from outside, and returns what the plugin logged. */
export async function examine(
  findings: FindingList,
  plugin: Plugin,
  job: Job,
  step: Step,
): Promise<string | undefined> {
  examineSummary(findings, plugin)
  step('options')
  const paths = job.options === undefined ? requiredPaths(plugin) : []
  if (paths.length > 0) {
    const detail = `setup was not tried: there is no sample path for ${paths.join(', ')}`
    findings.warning('options', 'OPTIONS_NEEDED', detail, GIVE_OPTIONS)
  }
  const options = job.options ?? withCanaries(plugin, sampleOptions(plugin), job.canary)
  await examineOptions(findings, plugin, options)
  const valid = await plugin.options?.['~standard'].validate(options)
  if (valid?.issues !== undefined) {
    const which = job.options === undefined ? 'sample options' : 'the options of --with'
    const why = await faultsOf({ use: plugin, with: options }, job.folder)
    findings.wrong('options', 'OPTIONS_NEEDED', `${which} are refused: ${why}`, GIVE_OPTIONS)
    return undefined
  }
  examineWarnings(findings, plugin, valid === undefined ? {} : valid.value)
  if (paths.length > 0) return undefined
  const missing = needsOf(plugin).filter(({ token }) => !helpers.some(([helped]) => helped.token === token))
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name).join(', ')
    const advice = 'test it together with these plugins, with contractSuite of sallyport/testing'
    findings.warning(
      'setup',
      'NEEDS_OTHERS',
      `setup was not tried: it needs ${names} of other plugins`,
      advice,
    )
    return undefined
  }
  return new LifecycleCheck(findings, plugin, options, job.folder, step).examine()
}

/** All problems that a start would report about the options, in one line. */
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

function examineSummary(findings: FindingList, { summary, name, version }: Plugin): void {
  const fault = summary === undefined ? 'has no summary' : summaryFault(summary)
  if (fault === undefined) {
    findings.ok('shape', `${name} ${version ?? 'without a version'}: ${summary}`)
    return
  }
  const advice =
    'give it a `summary`: what it does for the operator, in one sentence with a capital letter and a full stop'
  findings.wrong('shape', 'SUMMARY_MISSING', `${name} ${fault}`, advice)
}

function summaryFault(summary: string): string | undefined {
  const faults = [
    !/^\p{Lu}/u.test(summary) && 'does not begin with a capital letter',
    !summary.endsWith('.') && 'does not end with a full stop',
  ].filter((fault) => fault !== false)
  return faults.length === 0 ? undefined : `has a summary that ${faults.join(' and ')}: "${summary}"`
}

/** Providers of the capabilities that a plugin may require. The kernel itself provides Health. */
const helpers: readonly (readonly [Capability, List])[] = [
  [Health, []],
  [StateStore, stateInMemory],
  [IssuerMetadata, issuerDiscovery],
]

const needsOf = ({ requires = [], provides = [] }: Plugin): readonly Capability[] =>
  requires.filter(({ token }) => !provides.some((own) => own.token === token))

/** Boots two gateways with the plugin at the same time, as every reload does, tests both, and stops both. */
class LifecycleCheck {
  private readonly lines: string[] = []
  /** False once the plugin hangs or fails to start: then a second setup and leaks cannot be checked. */
  private usable = true

  constructor(
    private readonly findings: FindingList,
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
      // The stop of the first gateway must not have ended resources of the second.
      if (second !== undefined) await this.test(second, 'SETUP_ONCE')
      await second?.booted.stop()
    }
    this.examineStops()
    if (this.usable) await this.examineLeaks(before)
    return this.lines.join('')
  }

  private async begin(turn: 'setup' | 'setup again'): Promise<Running | undefined> {
    this.step(turn)
    const { findings, plugin, options, folder, lines } = this
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
      await nextTurn()
      return { booted, runner }
    } catch (error) {
      this.usable = false
      if (error instanceof Error && breaksContract(error)) {
        const advice = '"Write a plugin" in plugins/README.md describes the duties of a plugin'
        findings.wrong('contract', 'CONTRACT_BROKEN', messageOf(error), advice)
      } else if (turn === 'setup') {
        const advice = 'setup only wires and returns: move every wait to gateway.onStart'
        findings.wrong('setup', 'SETUP_FAILED', messageOf(error), advice)
      } else findings.wrong('setup', 'SETUP_ONCE', messageOf(error), SHARED_STATE_ADVICE)
      return undefined
    }
  }

  /** Runs the contract tests. A test that passes in the first gateway and fails in the second shows shared state. */
  private async test({ booted, runner }: Running, again?: 'SETUP_ONCE'): Promise<void> {
    const { findings, plugin } = this
    const wrong = findings.all.filter(({ state }) => state === 'wrong').length
    if (again !== undefined && (wrong > 0 || !this.usable)) return
    for await (const { capability, requirement, state, detail = '' } of runner.run(booted.app)) {
      await nextTurn()
      if (state === 'inconclusive' && again === undefined) {
        const advice = 'give options with --with for a source that can be read from here'
        findings.warning(capability, 'UNSEEN', detail, advice)
      }
      if (state !== 'failed') continue
      if (again !== undefined)
        findings.wrong('setup', again, `after another gateway stopped: ${detail}`, SHARED_STATE_ADVICE)
      else findings.wrong(capability, requirement.code, detail, requirement.advice)
      if (requirement.code !== 'HANGS') continue
      this.usable = false
      return
    }
    const now = findings.all.filter(({ state }) => state === 'wrong').length
    if (again === undefined) reportContract(findings, plugin, now === wrong)
  }

  private examineStops(): void {
    for (const line of this.lines) {
      const { msg, err }: Readonly<Record<string, unknown>> = JSON.parse(line)
      if (msg !== 'a plugin did not stop cleanly') continue
      const detail = isJsonObject(err) ? String(err['message']) : 'its stop failed'
      const advice = 'let every step of gateway.onStop end soon: log what cannot be closed, and throw nothing'
      this.findings.wrong('stop', 'STOP_FAILED', detail, advice)
    }
  }

  /** Reports resources that the stopped plugin left open; each has a second to close. */
  private async examineLeaks(before: Resources): Promise<void> {
    this.step('after the stop')
    for (let turns = 20; turns > 0 && before.leaked().length > 0; turns--) await setTimeout(50)
    const left = before.leaked()
    if (left.length === 0) return this.findings.ok('stop', 'nothing is left open')
    const advice = 'end it in gateway.onStop'
    this.findings.wrong(
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

// Without a turn of the event loop, uncaught rejections are not reported and no heartbeat is sent.
const nextTurn = (): Promise<void> => setImmediate()

const SHARED_STATE_ADVICE =
  'keep nothing that changes in module scope: two gateways run side by side at every reload'

function reportContract(findings: FindingList, { provides = [] }: Plugin, passed: boolean): void {
  const known = conformanceSuites.map(({ capability }) => capability.token)
  const others = provides.filter(({ token }) => !known.includes(token))
  if (others.length > 0) {
    const names = others.map(({ name }) => name).join(', ')
    const advice = 'write a test of your own for them'
    findings.warning('contract', 'CONTRACT_UNJUDGED', `there is no suite for ${names}`, advice)
  }
  const held = provides.filter(({ token }) => known.includes(token)).map(({ name }) => name)
  if (passed && held.length > 0) findings.ok('contract', `it keeps the contract of ${held.join(', ')}`)
}

const WARNINGS_ADVICE =
  'return a list of { place, message }, or an empty one; `place` is a path in the options'

/** Checks the warnings of the plugin about valid options. */
function examineWarnings(findings: FindingList, plugin: Plugin, options: unknown): void {
  if (plugin.warnings === undefined) return
  let warnings: unknown
  try {
    // The options come from the plugin's own schema, so they have the type that `warnings` expects.
    warnings = plugin.warnings(options as never)
  } catch (error) {
    const detail = `warnings threw: ${messageOf(error)}`
    findings.wrong('warnings', 'WARNINGS_FAILED', detail, WARNINGS_ADVICE)
    return
  }
  if (!Array.isArray(warnings) || !warnings.every(isProblem)) {
    findings.wrong('warnings', 'WARNINGS_MALFORMED', 'warnings returned no list of problems', WARNINGS_ADVICE)
  } else findings.ok('warnings', 'it returns a list of problems')
}

const isProblem = (value: unknown): boolean =>
  isJsonObject(value) && typeof value['place'] === 'string' && typeof value['message'] === 'string'
