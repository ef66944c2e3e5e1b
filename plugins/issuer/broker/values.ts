import type { StateStore } from 'sallyport'
import { digestOf, type JsonObject } from 'sallyport/toolkit'
import type { BrokerKeys } from './keys.js'

/** Small values in the state store, sealed: whoever reads the store learns neither a token nor a person. */
export class SealedState {
  constructor(
    readonly store: () => StateStore,
    private readonly keys: BrokerKeys,
    /** Of the issuer, so that two brokers may share a store. */
    private readonly issuer: string,
  ) {}

  async get(kind: string, id: string): Promise<JsonObject | undefined> {
    return this.at(this.keyOf(kind, id))
  }

  /** Without `seconds` it never expires. */
  async set(kind: string, id: string, value: JsonObject, seconds?: number): Promise<void> {
    const key = this.keyOf(kind, id)
    const sealed = this.keys.seal(key, JSON.stringify(value))
    const expiresAt = seconds === undefined ? undefined : Date.now() + seconds * 1000
    await this.store().set(key, sealed, { expiresAt })
  }

  /** True for exactly one caller in all processes. */
  async take(kind: string, id: string): Promise<boolean> {
    return (await this.store().take(this.keyOf(kind, id))) !== undefined
  }

  delete(kind: string, id: string): Promise<void> {
    return this.store().delete(this.keyOf(kind, id))
  }

  /** Runs `work` under the lock of that value, in all processes. */
  locked<T>(kind: string, id: string, work: () => Promise<T>): Promise<T> {
    return this.store().locked(this.keyOf(kind, id), work)
  }

  /** The keys of all values of this kind, those of other brokers in the store too. */
  keysOf(kind: string): Promise<readonly string[]> {
    return this.store().keys(prefixOf(kind))
  }

  /** A value whose own member `id` it is stored under; undefined when it is gone, or of another broker. */
  async own(kind: string, key: string): Promise<JsonObject | undefined> {
    const value = await this.at(key)
    const { id } = value ?? {}
    return typeof id === 'string' && this.keyOf(kind, id) === key ? value : undefined
  }

  private async at(key: string): Promise<JsonObject | undefined> {
    const sealed = await this.store().get(key)
    return sealed === undefined ? undefined : this.keys.openObject(key, sealed)
  }

  private keyOf(kind: string, id: string): string {
    return `${prefixOf(kind)}${digestOf(`${this.issuer} ${id}`)}`
  }
}

const prefixOf = (kind: string): string => `broker/${kind}/`
