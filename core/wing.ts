import { resolve } from 'node:path'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Capability, Many, One } from './capability.js'
import type { Container } from './container.js'
import { PublicPath } from './contracts/public-path.js'
import { GatewayError } from './errors.js'
import type { Dispatch, Gateway } from './gateway.js'
import type { Gate } from './http/gate.js'
import type { Keepsakes } from './keepsakes.js'
import type { Lifecycle } from './lifecycle.js'
import type { Scrubber } from './log/scrubber.js'
import type { Meter } from './meter.js'
import type { PlannedEntry } from './plan.js'

/** What every scope of a boot shares. */
export interface House {
  readonly log: Logger
  readonly folder: string
  readonly scrubber: Scrubber
  readonly meter: Meter
  readonly lifecycle: Lifecycle
  readonly root: FastifyInstance
  readonly internal: FastifyInstance
  /** The outermost container: what speaks of the whole process is kept there. */
  readonly commons: Container
  readonly keepsakes: Keepsakes
  readonly dispatch: Dispatch
  readonly connect: () => Duplex
  /** False while plugins are being set up. */
  complete: boolean
}

/** One scope being built: its container, its routes and its gate. */
export class Wing {
  constructor(
    private readonly house: House,
    readonly path: string,
    readonly container: Container,
    readonly http: FastifyInstance,
    readonly gate: Gate,
  ) {}

  /** The gateway as one entry sees it. */
  gatewayFor({ id, plugin, required }: PlannedEntry): Gateway {
    const { house } = this
    const name = this.path === '' ? id : `${this.path} ${id}`
    const hook = (phase: 'start' | 'ready' | 'stop') => (run: Parameters<Gateway['onReady']>[0]) =>
      house.lifecycle.add(phase, { id: name, run, required })

    return {
      id,
      scope: this.path,
      log: house.log.child({ plugin: name }),
      scrubber: house.scrubber,
      meter: house.meter,
      http: this.http,
      root: house.root,
      internal: house.internal,
      dispatch: house.dispatch,
      connect: house.connect,
      path: (path) => resolve(house.folder, path),
      provide: (capability, value) => this.provide(plugin.provides ?? [], capability, value),
      use: <T>(capability: One<T> | Many<T>) => this.user(plugin.requires ?? [], capability),
      keep: (key, open, close) => {
        const held = house.keepsakes.take(`${this.path} ${plugin.name} ${key}`, open, close)
        house.lifecycle.add('stop', { id: name, run: () => held.release(), required })
        return held.value
      },
      onStart: hook('start'),
      onReady: hook('ready'),
      onStop: hook('stop'),
    } as Gateway
  }

  private provide(declared: readonly Capability[], capability: Capability, value: unknown): void {
    const { name } = capability
    if (this.house.complete)
      throw misuse(`${name} was provided after setup: everybody has read the list by then`)
    if (!has(declared, capability)) throw misuse(`${name} was provided, but \`provides\` does not list it`)
    const shared = capability.kind === 'many' && capability.shared
    const container = shared ? this.house.commons : this.container
    if (capability.kind === 'one' && container.holds(capability)) throw misuse(`${name} was provided twice`)
    // A path that is open in one scope says nothing of the same path below another.
    container.provide(capability, capability.token === PublicPath.token ? `${this.path}${value}` : value)
  }

  private user<T>(required: readonly Capability[], capability: One<T> | Many<T>): () => T | readonly T[] {
    const { name } = capability
    if (capability.kind === 'one' && !has(required, capability)) {
      throw misuse(`${name} was asked for, but \`requires\` does not list it`)
    }
    let found: T | readonly T[] | undefined
    return () => {
      if (found !== undefined) return found
      if (!this.house.complete) throw misuse(`${name} was asked for during setup: ask from onStart on`)
      found =
        capability.kind === 'many' ? Object.freeze(this.container.many(capability)) : this.one(capability)
      return found
    }
  }

  private one<T>(capability: One<T>): T {
    const value = this.container.one(capability)
    if (value === undefined)
      throw misuse(`${capability.name} was promised by a plugin that did not provide it`)
    return value
  }
}

const has = (declared: readonly Capability[], { token }: Capability): boolean =>
  declared.some((capability) => capability.token === token)

const misuse = (message: string): GatewayError => new GatewayError('CONTRACT_BROKEN', message)
