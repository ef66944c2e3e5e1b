import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { AccessSink } from '../contract/capabilities/access-sink.js'
import { AuditSink } from '../contract/capabilities/audit-sink.js'
import { Authenticator } from '../contract/capabilities/authenticator.js'
import { BackgroundTask } from '../contract/capabilities/background-task.js'
import { Health, type HealthState } from '../contract/capabilities/health.js'
import { Listener } from '../contract/capabilities/listener.js'
import { PublicAddress } from '../contract/capabilities/public-address.js'
import { PublicPath } from '../contract/capabilities/public-path.js'
import { Revocation } from '../contract/capabilities/revocation.js'
import { type Instrument, type Labels, Telemetry } from '../contract/capabilities/telemetry.js'
import { Tracer } from '../contract/capabilities/tracer.js'
import { GatewayError } from '../contract/errors.js'
import type { Addresses, Dispatch } from '../contract/gateway.js'
import type { Measure, Meter } from '../contract/meter.js'
import { createInternalApp, createMainApp, gateRoutes, type MainApp } from '../gate/app.js'
import { Gate } from '../gate/gate.js'
import { endRevoked } from '../gate/revoked.js'
import { closeAfterBody, isBodyPending } from '../http/body.js'
import { DispatchedRequest } from '../http/dispatched-request.js'
import { InFlight } from '../http/in-flight.js'
import { InProcessConnections } from '../http/listener.js'
import { meterDroppedLines } from '../log/dropped-lines.js'
import { LogThrottle } from '../log/log-throttle.js'
import { LogScrubber } from '../log/scrubber.js'
import { RequestObserver } from '../observe/request-observer.js'
import { runSafely } from '../toolkit/deadline.js'
import type { BootContext } from './boot-context.js'
import { Container } from './container.js'
import { Lifecycle, STEP_LIMITS } from './lifecycle.js'
import { entriesOf, isPlannedScope, type PlannedEntry, type PlannedScope } from './plan.js'
import { contractBroken, Provisions } from './provisions.js'
import { GatewayScope, type SharedContext } from './scope.js'
import { SharedResources } from './shared-resources.js'

const GATE_DEADLINE = 15_000

/** One booted list: sets up its plugins, handles requests, and stops. */
export class GatewayInstance {
  readonly app: FastifyInstance
  readonly internal: FastifyInstance
  readonly inFlight = new InFlight()
  private readonly inProcess = new InProcessConnections((request, response) => this.handle(request, response))
  private readonly container = Container.create()
  private readonly lifecycle: Lifecycle
  private readonly throttle: LogThrottle
  private readonly observer: RequestObserver
  private stopMeteringDropped: (() => void) | undefined
  private readonly main: MainApp
  readonly takesUpgrades: () => boolean
  keepsStdout = false
  private readonly shared: SharedContext
  private state: 'starting' | 'ready' | 'stopping' = 'starting'

  constructor(private readonly context: BootContext) {
    const { log, folder, limits, signal } = context
    this.lifecycle = new Lifecycle(log, { ...STEP_LIMITS, ...limits }, signal ?? new AbortController().signal)
    this.throttle = new LogThrottle(log)
    const telemetry = this.whenComplete(() => this.container.many(Telemetry))
    const meter = createMeter(telemetry, (err) =>
      this.throttle.write(log, 'warn', 'a metric could not be recorded', {}, { err }),
    )
    const { sharedResources = new SharedResources(context.key) } = context
    const listedTools = sharedResources.acquire('listed tools', () => new Set<string>())
    this.lifecycle.add('stop', { id: 'metrics', required: true, run: () => listedTools.release() })
    this.observer = new RequestObserver(meter, log, this.throttle, listedTools.value, {
      auditSinks: this.whenComplete(() => this.container.many(AuditSink)),
      accessSinks: this.whenComplete(() => this.container.many(AccessSink)),
      tracers: this.whenComplete(() => this.container.many(Tracer)),
      telemetry,
    })
    this.main = createMainApp(log, this.throttle, this.observer, context.bodyDeadline)
    this.app = this.main.app
    this.takesUpgrades = this.main.takesUpgrades
    this.internal = createInternalApp(log, this.throttle)
    this.shared = {
      log,
      folder,
      scrubber: context.scrubber ?? new LogScrubber(),
      meter,
      root: this.app,
      lifecycle: this.lifecycle,
      internal: this.internal,
      rootContainer: this.container,
      guardPlugins: new WeakMap(),
      sharedResources,
      dispatch: (request) => this.dispatch(request),
      connect: () => this.connect(),
      complete: false,
    }
    this.container.provide(Health, { name: 'gateway', check: () => this.health() } satisfies Health)
  }

  /** Calls `setup` of every plugin, but runs no `onStart` step. */
  async setUpAll(plan: PlannedScope): Promise<readonly GatewayScope[]> {
    const plugins = entriesOf(plan).map(({ plugin }) => plugin)
    this.keepsStdout = plugins.some(({ stdout }) => stdout === 'protocol')
    // Waits until Fastify has registered the gate's hook, so that hooks of plugins run after it.
    await this.app.after()
    const scopes: GatewayScope[] = []
    await this.setUpScope(
      plan,
      new GatewayScope(this.shared, '', this.container, this.app, this.main.gate),
      scopes,
    )
    this.lifecycle.throwProblems()
    return scopes
  }

  async build(plan: PlannedScope): Promise<void> {
    const scopes = await this.setUpAll(plan)
    this.shared.complete = true
    this.main.addresses.trust(this.listeners.flatMap(({ trustedProxies = [] }) => trustedProxies))
    const run = async () => void (await Promise.all([this.app.ready(), this.internal.ready()]))
    await this.lifecycle.step('setup', { id: 'routes', required: true, run })
    for (const scope of scopes) scope.openGate(this.context.gateDeadline ?? GATE_DEADLINE)
    for (const revocation of new Set(scopes.map(({ container }) => container.one(Revocation))))
      revocation?.onRevoked(() => endRevoked(() => this.inFlight.open))
    const open = scopes.filter(({ container }) =>
      container.many(Authenticator).some((authenticator) => authenticator.open === true),
    )
    // A gateway that speaks on standard output, without a main port, serves only the program that started it.
    const isReached = !this.keepsStdout || this.listeners.some(({ port }) => port === 'main')
    if (open.length > 0 && isReached) {
      const found = open.map(({ path }) => (path === '' ? '/' : path))
      this.context.log.warn({ scopes: found }, 'these scopes admit requests without credentials')
    }
    await this.lifecycle.run('start')
    const routes = this.main.publicRoutes()
    const paths = [...new Set(scopes.flatMap(({ container }) => container.many(PublicPath)))]
    this.context.log.info({ routes, paths }, 'these routes and paths need no credentials')
  }

  private async setUpScope(plan: PlannedScope, scope: GatewayScope, scopes: GatewayScope[]): Promise<void> {
    scopes.push(scope)
    for (const item of plan.items) {
      if (isPlannedScope(item)) await this.addScope(item, scope, scopes)
      else await this.setUp(item, scope)
    }
  }

  private async addScope(plan: PlannedScope, outer: GatewayScope, scopes: GatewayScope[]): Promise<void> {
    const gate = new Gate()
    await outer.http.register(
      async (http) => {
        await http.register(gateRoutes, { gate, errorReplies: this.main.errorReplies })
        await this.setUpScope(
          plan,
          new GatewayScope(this.shared, plan.path, outer.container.child(), http, gate),
          scopes,
        )
      },
      { prefix: plan.path.slice(outer.path.length) },
    )
  }

  private async setUp(entry: PlannedEntry, scope: GatewayScope): Promise<void> {
    const { plugin, options, required, placeOf, secrets } = entry
    const id = scope.path === '' ? entry.id : `${scope.path} ${entry.id}`
    const run = async (): Promise<void> => {
      const provisions = new Provisions(entry.provides)
      // The options are the result of the plugin's own schema, so they have the type that `setup` expects.
      await plugin.setup(scope.gatewayFor(entry, provisions), options as never)
      // The plugin's deadline includes the Fastify plugins that it registered.
      await Promise.all([scope.http.after(), this.internal.after()])
      provisions.close()
      const routes = this.main.routesWithoutPassage()
      if (routes.length > 0) throw contractBroken(`${routes.join(', ')} ${NO_PASSAGE}`)
    }
    await this.lifecycle.step('setup', { id, required, run, placeOf, secrets })
  }

  get listeners(): readonly Listener[] {
    return this.container.many(Listener)
  }

  /** Runs the `onReady` steps, once the ports are open. */
  async ready(addresses: Addresses): Promise<void> {
    await this.lifecycle.run('ready', addresses)
    this.state = 'ready'
    this.stopMeteringDropped = meterDroppedLines(this.context.log, this.shared.meter)
  }

  /** From now on `/readiness` reports `down`, so that a load balancer sends new requests elsewhere. */
  reportStopping(): void {
    this.state = 'stopping'
  }

  beginStopping(): void {
    this.reportStopping()
    for (const task of this.backgroundTasks)
      void this.lifecycle.end({ id: 'background task', run: () => task.end() })
  }

  /** Runs the `onReplaced` steps: another list serves now, and requests of this one may still run. */
  replaced(): Promise<void> {
    return this.lifecycle.replaced()
  }

  get publicOrigin(): string | undefined {
    return this.container.many(PublicAddress).find(({ origin }) => origin !== undefined)?.origin
  }

  get backgroundTasks(): readonly BackgroundTask[] {
    return this.container.many(BackgroundTask)
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    this.inFlight.add(response)
    if (isServerOptions(request)) answerServerOptions(request, response)
    else this.app.routing(request, response)
  }

  private async dispatch(request: Parameters<Dispatch>[0]): ReturnType<Dispatch> {
    if (!this.shared.complete)
      throw new GatewayError('CONTRACT_BROKEN', 'dispatch must not be called before onStart')
    const options = typeof request === 'string' ? { url: request } : request
    return this.inFlight.track(this.app.inject({ ...options, Request: DispatchedRequest }))
  }

  private connect(): Duplex {
    if (!this.shared.complete)
      throw new GatewayError('CONTRACT_BROKEN', 'connect must not be called before onStart')
    return this.inProcess.connect()
  }

  readonly handleInternal = (request: IncomingMessage, response: ServerResponse): void => {
    this.inFlight.add(response)
    this.internal.routing(request, response)
  }

  /** Runs every `onStop` step, in reverse order, once no request is in flight any more. */
  async stop(): Promise<void> {
    this.beginStopping()
    this.observer.stop()
    await this.lifecycle.stop()
    for (const app of [this.app, this.internal])
      await this.lifecycle.end({ id: 'routes', run: () => app.close() })
    this.stopMeteringDropped?.()
    this.throttle.flush()
  }

  private health(): HealthState {
    return this.state === 'ready' ? { status: 'ok' } : { status: 'down', reason: this.state }
  }

  // Read once and cached; empty until every plugin is set up.
  private whenComplete<T>(read: () => readonly T[]): () => readonly T[] {
    let found: readonly T[] | undefined
    return () => {
      if (!this.shared.complete) return []
      found ??= read()
      return found
    }
  }
}

const NO_PASSAGE =
  'has `mcp: true` and no passage: call openPassage of sallyport/toolkit before you declare the route, and answer through it'

const NO_LABELS: Labels = {}

// OpenTelemetry's conventions for MCP define this name, so it gets no prefix.
const CONVENTIONAL: ReadonlySet<string> = new Set(['mcp_server_operation_duration_seconds'])

/** The meter of a boot. It looks up the observers at each measurement: during setup not all are provided yet. */
function createMeter(observers: () => readonly Telemetry[], failed: (error: unknown) => void): Meter {
  const make =
    (kind: Instrument['kind']) =>
    (name: string, help: string, labels: readonly string[] = []): Measure => {
      const own = CONVENTIONAL.has(name) ? name : `sallyport_${name}`
      const instrument: Instrument = { kind, name: own, help, labels }
      return (value, values = NO_LABELS, traceId) => {
        for (const observer of observers())
          runSafely(() => observer.measure(instrument, value, values, traceId), failed)
      }
    }
  return { counter: make('counter'), gauge: make('gauge'), histogram: make('histogram') }
}

/** `OPTIONS *` is about the server itself, and not a resource (RFC 9110, 9.3.7): load balancers use it as a ping. */
const isServerOptions = ({ method, url }: IncomingMessage): boolean => url === '*' && method === 'OPTIONS'

function answerServerOptions(request: IncomingMessage, response: ServerResponse): void {
  if (isBodyPending(request)) closeAfterBody(response, 204)
  response.writeHead(204, { 'x-content-type-options': 'nosniff' }).end()
}
