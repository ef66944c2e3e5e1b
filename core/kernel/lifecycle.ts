import type { Logger } from 'pino'
import { within } from './deadline.js'
import { ConfigError, GatewayError } from './errors.js'
import { foreignPlace } from './foreign-place.js'
import type { Addresses } from './gateway.js'

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
}

/** The steps of one boot: what runs before the doors open, when they are open, and at the end. */
export class Lifecycle {
  private readonly steps: Record<'start' | 'ready' | 'stop', Step[]> = { start: [], ready: [], stop: [] }

  private stopping = false

  constructor(
    private readonly log: Logger,
    private readonly limits: StepLimits,
    private readonly signal: AbortSignal,
  ) {}

  /** A plugin that comes late, after its own deadline, finds the gateway stopping: what it opened is closed at once. */
  add(phase: 'start' | 'ready' | 'stop', step: Step): void {
    if (!this.stopping) this.steps[phase].push(step)
    else if (phase === 'stop') void this.end(step)
  }

  /** Runs one step under its deadline. What goes wrong names the plugin and the step. */
  async step(phase: keyof StepLimits, { id, run, required }: Step, addresses: Addresses = {}): Promise<void> {
    try {
      this.signal.throwIfAborted()
      await within(this.limits[phase], runNow(run, addresses), () => new Error(this.late(phase)), this.signal)
    } catch (error) {
      if (this.signal.aborted) throw this.signal.reason
      const failure = failed(id, phase, error)
      if (required) throw failure
      this.log.warn({ plugin: id, err: failure }, 'an observer failed; the gateway goes on without it')
    }
  }

  async run(phase: 'start' | 'ready', addresses?: Addresses): Promise<void> {
    for (const step of this.steps[phase]) await this.step(phase, step, addresses)
  }

  /** Runs every stop step, last first. One that fails is logged: it must not keep the others from running. */
  async stop(): Promise<void> {
    this.stopping = true
    for (const step of this.steps.stop.splice(0).reverse()) await this.end(step)
  }

  /** A step of the kernel's own at the end: it is not waited for without end either. */
  async end({ id, run }: Pick<Step, 'id' | 'run'>): Promise<void> {
    try {
      await within(this.limits.stop, runNow(run, {}), () => new Error(this.late('stop')))
    } catch (error) {
      this.log.error({ plugin: id, err: failed(id, 'stop', error) }, 'a plugin did not stop cleanly')
    }
  }

  private late(phase: keyof StepLimits): string {
    return `it did not return within ${this.limits[phase] / 1000} s`
  }
}

/** A promise also for what throws at once. */
async function runNow(run: Step['run'], addresses: Addresses): Promise<void> {
  await run(addresses)
}

// Files that the configuration names, whichever plugin opens them.
const OF_THE_OPERATOR = new Set([
  'FILE_UNREADABLE',
  'SECRET_EMPTY',
  'CERTIFICATES_INVALID',
  'EGRESS_BEARER_INVALID',
])

function failed(id: string, phase: string, error: unknown): GatewayError {
  if (error instanceof ConfigError) {
    const problems = error.problems.map((problem) => ({
      ...problem,
      place: `plugin "${id}": ${problem.place}`,
    }))
    return new ConfigError(problems, { cause: error })
  }
  if (error instanceof GatewayError && OF_THE_OPERATOR.has(error.code)) {
    return new ConfigError([{ place: `plugin "${id}"`, message: error.message }], { cause: error })
  }
  const message = error instanceof Error ? error.message : String(error)
  const place = error instanceof Error ? foreignPlace(error) : undefined
  const at = place === undefined ? '' : ` (${place})`
  return new GatewayError('PLUGIN_FAILED', `plugin "${id}" failed in ${phase}: ${message}${at}`, {
    cause: error,
  })
}
