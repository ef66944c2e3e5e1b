import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { BootContext } from './boot-context.js'
import { Container } from './container.js'
import { AuditSink } from './contracts/audit-sink.js'
import { Authenticator } from './contracts/authenticator.js'
import { Challenge } from './contracts/challenge.js'
import { Errand } from './contracts/errand.js'
import { Guard } from './contracts/guard.js'
import { Health, type HealthState } from './contracts/health.js'
import { Listener } from './contracts/listener.js'
import { PublicAddress } from './contracts/public-address.js'
import { PublicPath } from './contracts/public-path.js'
import { Telemetry } from './contracts/telemetry.js'
import { GatewayError } from './errors.js'
import type { Addresses, Dispatch } from './gateway.js'
import type { Answers } from './http/answers.js'
import { behind, createInternal, createMain } from './http/app.js'
import { Gate } from './http/gate.js'
import { InFlight } from './http/in-flight.js'
import { InnerDoor } from './http/inner-door.js'
import { Observation } from './http/observe.js'
import { PublicPaths } from './http/public-paths.js'
import { Keepsakes } from './keepsakes.js'
import { Lifecycle, STEP_LIMITS } from './lifecycle.js'
import { Scrubber } from './log/scrubber.js'
import { createMeter } from './meter.js'
import { isPlannedScope, type PlannedEntry, type PlannedScope } from './plan.js'
import { type House, Wing } from './wing.js'

const GATE_DEADLINE = 15_000

/** A list that was set up: it answers requests, and can be stopped. */
export class Booted {
  readonly app: FastifyInstance
  readonly internal: FastifyInstance
  readonly inFlight = new InFlight()
  private readonly innerDoor = new InnerDoor((request, response) => this.handle(request, response))
  private readonly container = Container.create()
  private readonly lifecycle: Lifecycle
  private readonly observation: Observation
  private readonly gate: Gate
  private readonly answers: Answers
  private readonly publicRoutes: () => readonly string[]
  readonly takesUpgrades: () => boolean
  private readonly house: House
  private state: 'starting' | 'ready' | 'stopping' = 'starting'

  constructor(private readonly context: BootContext) {
    const { log, folder, limits, signal } = context
    this.lifecycle = new Lifecycle(log, { ...STEP_LIMITS, ...limits }, signal ?? new AbortController().signal)
    const meter = createMeter(
      this.whenComplete(() => this.container.many(Telemetry)),
      (error) => log.warn({ err: error }, 'a metric could not be told'),
    )
    this.observation = new Observation(
      meter,
      log,
      this.whenComplete(() => this.container.many(AuditSink)),
    )
    const { app, gate, answers, publicRoutes, takesUpgrades } = createMain(
      log,
      this.observation.refused,
      context.bodyDeadline,
    )
    this.app = app
    this.gate = gate
    this.answers = answers
    this.publicRoutes = publicRoutes
    this.takesUpgrades = takesUpgrades
    this.internal = createInternal(log)
    const dispatch: Dispatch = (request) => this.dispatch(request)
    this.house = {
      log,
      folder,
      scrubber: context.scrubber ?? new Scrubber(),
      meter,
      root: app,
      lifecycle: this.lifecycle,
      internal: this.internal,
      commons: this.container,
      keepsakes: context.keepsakes ?? new Keepsakes(),
      dispatch,
      connect: () => this.connect(),
      complete: false,
    }
    this.container.provide(Health, { name: 'gateway', check: () => this.health() } satisfies Health)
  }

  async build(plan: PlannedScope): Promise<void> {
    // The first turn of Fastify's own queue, so that hooks of plugins come after the gate's.
    await this.app.after()
    if (observes(plan)) this.observation.install(this.app)
    const wings: Wing[] = []
    await this.furnish(plan, new Wing(this.house, '', this.container, this.app, this.gate), wings)
    this.house.complete = true
    const bolt = async (): Promise<void> =>
      void (await Promise.all([this.app.ready(), this.internal.ready()]))
    await this.lifecycle.step('setup', { id: 'routes', required: true, run: bolt })
    for (const wing of wings) this.openGate(wing)
    await this.lifecycle.run('start')
    const paths = [...new Set(wings.flatMap(({ container }) => container.many(PublicPath)))]
    this.context.log.info({ routes: this.publicRoutes(), paths }, 'these need no credentials')
  }

  private async furnish(plan: PlannedScope, wing: Wing, wings: Wing[]): Promise<void> {
    wings.push(wing)
    for (const item of plan.items) {
      if (isPlannedScope(item)) await this.addWing(item, wing, wings)
      else await this.setUp(item, wing)
    }
  }

  private async addWing(plan: PlannedScope, outer: Wing, wings: Wing[]): Promise<void> {
    const gate = new Gate()
    const prefix = plan.path.slice(outer.path.length)
    const furnished = outer.http.register(
      async (http) => {
        await http.register(behind, { gate, answers: this.answers })
        await this.furnish(plan, new Wing(this.house, plan.path, outer.container.child(), http, gate), wings)
      },
      { prefix },
    )
    await furnished
  }

  private async setUp(entry: PlannedEntry, wing: Wing): Promise<void> {
    const { plugin, options, required } = entry
    const gateway = wing.gatewayFor(entry)
    const id = wing.path === '' ? entry.id : `${wing.path} ${entry.id}`
    const run = async (): Promise<void> => {
      // The kernel passes what the plugin's own schema returned, which is what `setup` is typed for.
      await plugin.setup(gateway, options as never)
      // What it registered with Fastify is its work too, and counts in its time.
      await Promise.all([wing.http.after(), this.internal.after()])
    }
    await this.lifecycle.step('setup', { id, required, run })
  }

  private openGate({ container, gate }: Wing): void {
    gate.open({
      guards: container.many(Guard),
      authenticators: container.many(Authenticator),
      publicPaths: new PublicPaths(container.many(PublicPath)),
      challenge: container.one(Challenge),
      deadline: this.context.gateDeadline ?? GATE_DEADLINE,
    })
  }

  get listeners(): readonly Listener[] {
    return this.container.many(Listener)
  }

  /** The doors are open. */
  async ready(addresses: Addresses): Promise<void> {
    await this.lifecycle.run('ready', addresses)
    this.state = 'ready'
  }

  /** From here on readiness says no, so that a load balancer sends new requests elsewhere. */
  leave(): void {
    this.state = 'stopping'
    for (const errand of this.errands) errand.end()
  }

  get publicOrigin(): string | undefined {
    return this.container.many(PublicAddress).find(({ origin }) => origin !== undefined)?.origin
  }

  get errands(): readonly Errand[] {
    return this.container.many(Errand)
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    this.inFlight.enter(response)
    this.app.routing(request, response)
  }

  private async dispatch(request: Parameters<Dispatch>[0]): ReturnType<Dispatch> {
    if (!this.house.complete) throw new GatewayError('CONTRACT_BROKEN', 'dispatch answers from onStart on')
    return this.inFlight.during(this.app.inject(request))
  }

  private connect(): Duplex {
    if (!this.house.complete) throw new GatewayError('CONTRACT_BROKEN', 'connect answers from onStart on')
    return this.innerDoor.connect()
  }

  readonly handleInternal = (request: IncomingMessage, response: ServerResponse): void => {
    this.inFlight.enter(response)
    this.internal.routing(request, response)
  }

  /** Runs every stop step, in reverse order. Nothing is in flight any more. */
  async stop(): Promise<void> {
    this.leave()
    await this.lifecycle.stop()
    for (const app of [this.app, this.internal])
      await this.lifecycle.end({ id: 'routes', run: () => app.close() })
    this.container.clear()
  }

  private health(): HealthState {
    return this.state === 'ready' ? { status: 'ok' } : { status: 'down', reason: this.state }
  }

  // What is read once and kept; before everybody is set up there is nothing to read.
  private whenComplete<T>(read: () => readonly T[]): () => readonly T[] {
    let found: readonly T[] | undefined
    return () => {
      if (!this.house.complete) return []
      found ??= read()
      return found
    }
  }
}

/** Whether anybody in the list, in any scope, watches requests. */
function observes({ items }: PlannedScope): boolean {
  const watched = [Telemetry.token, AuditSink.token]
  return items.some((item) =>
    isPlannedScope(item)
      ? observes(item)
      : (item.plugin.provides ?? []).some(({ token }) => watched.includes(token)),
  )
}
