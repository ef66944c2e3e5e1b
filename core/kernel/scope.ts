import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { Authenticator } from '../contract/capabilities/authenticator.js'
import { BrowserSession } from '../contract/capabilities/browser-session.js'
import { Challenge } from '../contract/capabilities/challenge.js'
import { Guard } from '../contract/capabilities/guard.js'
import { Limiter } from '../contract/capabilities/limiter.js'
import { Policy } from '../contract/capabilities/policy.js'
import { PublicPath } from '../contract/capabilities/public-path.js'
import { Revocation } from '../contract/capabilities/revocation.js'
import type { Capability, Many, One } from '../contract/capability.js'
import type { Dispatch, Gateway } from '../contract/gateway.js'
import type { Meter } from '../contract/meter.js'
import type { Scrubber } from '../contract/scrubber.js'
import { CallChecks } from '../gate/call-checks.js'
import type { Gate } from '../gate/gate.js'
import { RequestLimit } from '../gate/limit.js'
import { PublicPaths } from '../gate/public-paths.js'
import { pathsFrom } from '../toolkit/paths-from.js'
import type { Container } from './container.js'
import type { Lifecycle } from './lifecycle.js'
import type { PlannedEntry } from './plan.js'
import { contractBroken, type Provisions } from './provisions.js'
import type { SharedResources } from './shared-resources.js'

/** The objects that all scopes of a boot share. */
export interface SharedContext {
  readonly log: Logger
  readonly folder: string
  readonly scrubber: Scrubber
  readonly meter: Meter
  readonly lifecycle: Lifecycle
  readonly root: FastifyInstance
  readonly internal: FastifyInstance
  /** The container of the root scope: shared capabilities are provided there. */
  readonly rootContainer: Container
  readonly sharedResources: SharedResources
  readonly dispatch: Dispatch
  readonly connect: () => Duplex
  /** The plugin that provided each guard, in any scope. */
  readonly guardPlugins: WeakMap<Guard, string>
  /** False while plugins are being set up. */
  complete: boolean
}

/** One scope: its container, its routes and its gate. */
export class GatewayScope {
  constructor(
    private readonly shared: SharedContext,
    readonly path: string,
    readonly container: Container,
    readonly http: FastifyInstance,
    readonly gate: Gate,
  ) {}

  /** Called when every plugin of the scope is set up: from now on its routes admit requests. */
  openGate(deadline: number): void {
    const { container } = this
    const authenticators = container.many(Authenticator)
    const limiter = container.one(Limiter)
    const limit = limiter && new RequestLimit(limiter, authenticators, deadline)
    const policies = container.many(Policy)
    const countsCalls = limiter?.takeCalls !== undefined
    const onlyBatches = policies.length === 0 && limiter?.readsBodies === false
    this.gate.open({
      guards: container.many(Guard),
      guardPlugins: this.shared.guardPlugins,
      authenticators,
      revocation: container.one(Revocation),
      sessions: container.many(BrowserSession),
      publicPaths: new PublicPaths(container.many(PublicPath)),
      challenge: container.one(Challenge),
      limit,
      calls:
        policies.length > 0 || countsCalls
          ? new CallChecks(policies, limit, deadline, onlyBatches)
          : undefined,
      deadline,
    })
  }

  /** The `Gateway` object of one entry. */
  gatewayFor({ id, plugin, required, placeOf, secrets }: PlannedEntry, provisions: Provisions): Gateway {
    const { shared } = this
    const name = this.path === '' ? id : `${this.path} ${id}`
    const hook = (phase: Parameters<Lifecycle['add']>[0]) => (run: Parameters<Gateway['onReady']>[0]) =>
      shared.lifecycle.add(phase, { id: name, run, required, placeOf, secrets })
    const removals = secrets.map((secret) => shared.scrubber.add(secret))
    const removeSecrets = (): void => {
      for (const remove of removals) remove()
    }
    // The first stop step runs last, so that log lines of the plugin's own stop steps are scrubbed too.
    hook('stop')(removeSecrets)
    const share: Gateway['share'] = (key, open, close) => {
      const lease = shared.sharedResources.acquire(`${this.path} ${plugin.name} ${key}`, open, close)
      shared.lifecycle.add('stop', { id: name, run: () => lease.release(), required })
      return lease.value
    }

    return {
      id,
      scope: this.path,
      log: shared.log.child({ plugin: name }),
      scrubber: shared.scrubber,
      meter: shared.meter,
      http: this.http,
      root: shared.root,
      internal: shared.internal,
      dispatch: shared.dispatch,
      connect: shared.connect,
      path: pathsFrom(shared.folder),
      provide: (capability, value) => this.provide(name, provisions, capability, value),
      use: <T>(capability: One<T> | Many<T>) => this.accessor(plugin.requires ?? [], capability),
      find: <T>(capability: One<T>) => this.finder(capability),
      share,
      keyFor: (purpose) => shared.sharedResources.keyFor(`${this.path} ${plugin.name} ${purpose}`),
      onStart: hook('start'),
      onReady: hook('ready'),
      onReplaced: hook('replaced'),
      onStop: hook('stop'),
    } as Gateway
  }

  private provide(plugin: string, provisions: Provisions, capability: Capability, value: unknown): void {
    provisions.add(capability, value)
    const shared = capability.kind === 'many' && capability.shared
    const container = shared ? this.shared.rootContainer : this.container
    if (capability.kind === 'one' && container.holds(capability))
      throw contractBroken(`${capability.name} was provided twice`)
    if (capability.token === Guard.token && typeof value === 'function')
      this.shared.guardPlugins.set(value as Guard, plugin)
    // A path that is public in one scope is not public in another.
    container.provide(capability, capability.token === PublicPath.token ? `${this.path}${value}` : value)
  }

  private accessor<T>(required: readonly Capability[], capability: One<T> | Many<T>): () => T | readonly T[] {
    const { name } = capability
    if (capability.kind === 'one' && !has(required, capability)) {
      throw contractBroken(`${name} is used, but \`requires\` does not list it`)
    }
    let found: T | readonly T[] | undefined
    return () => {
      if (found !== undefined) return found
      if (!this.shared.complete)
        throw contractBroken(`${name} was read during setup: read it from onStart on`)
      found =
        capability.kind === 'many' ? Object.freeze(this.container.many(capability)) : this.one(capability)
      return found
    }
  }

  private finder<T>(capability: One<T>): () => T | undefined {
    return () => {
      if (!this.shared.complete)
        throw contractBroken(`${capability.name} was read during setup: read it from onStart on`)
      return this.container.one(capability)
    }
  }

  private one<T>(capability: One<T>): T {
    const value = this.container.one(capability)
    if (value === undefined)
      throw contractBroken(`a plugin lists ${capability.name} in \`provides\`, but did not provide it`)
    return value
  }
}

const has = (declared: readonly Capability[], { token }: Capability): boolean =>
  declared.some((capability) => capability.token === token)
