import type { Logger } from 'pino'
import { ConfigError, GatewayError } from '../contract/errors.js'
import type { Addresses } from '../contract/gateway.js'
import type { Problem } from '../contract/problem.js'
import { withoutSecrets } from '../log/scrubber.js'
import { within } from '../toolkit/deadline.js'
import { messageOf } from '../toolkit/message-of.js'
import { pluginFrame } from '../toolkit/plugin-frame.js'

/** Milliseconds that one step of one plugin may take. */
export interface StepLimits {
  readonly setup: number
  readonly start: number
  readonly ready: number
  readonly stop: number
}

export const STEP_LIMITS: StepLimits = { setup: 10_000, start: 30_000, ready: 30_000, stop: 10_000 }

interface Step {
  readonly id: string
  readonly run: (addresses: Addresses) => void | Promise<void>
  readonly required: boolean
  readonly placeOf?: ((option: string) => string | undefined) | undefined
  /** The secrets in its options: a plugin may quote them in its errors, which are printed. */
  readonly secrets?: readonly string[]
}

type Phase = 'start' | 'ready' | 'replaced' | 'stop'

/** The steps of one boot: those before the ports open, those after, and those at the end. */
export class Lifecycle {
  private readonly steps: Record<Phase, Step[]> = { start: [], ready: [], replaced: [], stop: [] }

  private readonly problems: Problem[] = []
  private stopping = false

  constructor(
    private readonly log: Logger,
    private readonly limits: StepLimits,
    private readonly signal: AbortSignal,
  ) {}

  /** Runs a stop step at once if the gateway is stopping already: a plugin may add one after its deadline. */
  add(phase: Phase, step: Step): void {
    if (!this.stopping) this.steps[phase].push(step)
    else if (phase === 'stop') void this.end(step)
  }

  /** Runs one step under its deadline. An error names the plugin and the step. */
  async step(phase: keyof StepLimits, step: Step, addresses: Addresses = {}): Promise<void> {
    const { id, run, required } = step
    try {
      this.signal.throwIfAborted()
      await within(this.limits[phase], runNow(run, addresses), () => new Error(this.late(phase)), this.signal)
    } catch (error) {
      if (this.signal.aborted) throw this.signal.reason
      const failure = stepFailure(step, phase, error)
      // Setup goes on with the other plugins, so that all problems of the configuration are reported at once.
      if (required && phase === 'setup' && failure instanceof ConfigError) {
        this.problems.push(...failure.problems)
        return
      }
      if (required) this.throwProblems()
      if (required) throw failure
      this.log.warn({ plugin: id, err: failure }, 'an observer failed; the gateway goes on without it')
    }
  }

  /** Throws all problems of the configuration that setup has found. */
  throwProblems(): void {
    if (this.problems.length > 0) throw new ConfigError(this.problems)
  }

  async run(phase: 'start' | 'ready', addresses?: Addresses): Promise<void> {
    for (const step of this.steps[phase]) await this.step(phase, step, addresses)
  }

  /** Runs every stop step, last first. An error is logged, and the other steps still run. */
  async stop(): Promise<void> {
    this.stopping = true
    await this.endAll('stop')
  }

  /** Runs the `onReplaced` steps in the same way. */
  replaced(): Promise<void> {
    return this.endAll('replaced')
  }

  private async endAll(phase: 'replaced' | 'stop'): Promise<void> {
    for (const step of this.steps[phase].splice(0).reverse()) await this.end(step, phase)
  }

  /** Runs one step at the end, under a deadline. An error is logged. */
  async end({ id, run }: Pick<Step, 'id' | 'run'>, phase: Phase = 'stop'): Promise<void> {
    try {
      await within(this.limits.stop, runNow(run, {}), () => new Error(this.late('stop')))
    } catch (error) {
      this.log.error({ plugin: id, err: stepFailure({ id }, phase, error) }, 'a plugin did not stop cleanly')
    }
  }

  private late(phase: keyof StepLimits): string {
    return `it did not return within ${this.limits[phase] / 1000} s`
  }
}

/** Turns a synchronous error into a rejection. */
async function runNow(run: Step['run'], addresses: Addresses): Promise<void> {
  await run(addresses)
}

// Codes of errors about files that the configuration names, whichever plugin opens them.
const CONFIG_CODES = new Set([
  'FILE_UNREADABLE',
  'SECRET_EMPTY',
  'CERTIFICATES_INVALID',
  'EGRESS_BEARER_INVALID',
])

/** The error of one plugin's step. It names the plugin and the step, or the place of the wrong option. */
export function stepFailure(
  { id, placeOf, secrets = [] }: Pick<Step, 'id' | 'placeOf' | 'secrets'>,
  phase: string,
  error: unknown,
): GatewayError {
  const shown = (text: string): string => (secrets.length === 0 ? text : withoutSecrets(text, secrets))
  const cause = secrets.length === 0 ? error : shownError(error, shown)
  if (error instanceof ConfigError) {
    const problems = error.problems.map(({ place, message, ...more }) => ({
      ...more,
      place: placeOf?.(place) ?? `plugin "${id}": ${place}`,
      message: shown(message),
    }))
    return new ConfigError(problems, { cause })
  }
  if (error instanceof GatewayError && CONFIG_CODES.has(error.code)) {
    const place = placeOf?.('') ?? `plugin "${id}"`
    return new ConfigError([{ place, message: shown(error.message) }], { cause })
  }
  const message = shown(messageOf(error))
  const frame = error instanceof Error ? pluginFrame(error) : undefined
  const at = frame === undefined ? '' : ` (${frame})`
  return new GatewayError('PLUGIN_FAILED', `plugin "${id}" failed in ${phase}: ${message}${at}`, { cause })
}

// No real error has more causes; an error may be its own cause.
const MAX_CAUSES = 8

/** A copy of an error without secrets. The plugin may still hold the original, and some errors are frozen. */
function shownError(error: unknown, shown: (text: string) => string, depth = 0): unknown {
  if (!(error instanceof Error)) return shown(String(error))
  const { name, message, stack = '', cause } = error
  const copy = new Error(shown(message), {
    ...(cause !== undefined && depth < MAX_CAUSES && { cause: shownError(cause, shown, depth + 1) }),
  })
  return Object.assign(copy, { name, stack: shown(stack), ...('code' in error && { code: error.code }) })
}
