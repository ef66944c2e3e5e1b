import type { JsonObject } from 'sallyport/toolkit'
import type { SealedState } from './values.js'

/** Stands for a code or a refresh token that was not used yet. */
const UNUSED = 'unused'
const USED_ONCE: ReadonlySet<string> = new Set(['AuthorizationCode', 'RefreshToken'])

interface Dependencies {
  readonly state: SealedState
  /** The client with this ID, if it is registered or given. */
  readonly client: (id: string) => JsonObject | undefined
  /** Makes the error of a code or a refresh token that was used before. */
  readonly usedBefore: () => Error
}

/**
 * Where the engine keeps one kind of its values. A client is in its own ID, and the engine's session lasts for one
 * request: neither is stored.
 */
export class EngineValues {
  constructor(
    private readonly kind: string,
    private readonly dependencies: Dependencies,
  ) {}

  async upsert(id: string, value: JsonObject, seconds: number): Promise<void> {
    if (!this.isStored) return
    const { state } = this.dependencies
    await state.set(this.kind, id, value, seconds)
    if (USED_ONCE.has(this.kind) && value['consumed'] === undefined) await state.set(UNUSED, id, {}, seconds)
  }

  async find(id: string): Promise<JsonObject | undefined> {
    if (this.kind === 'Client') return this.dependencies.client(id)
    return this.isStored ? this.dependencies.state.get(this.kind, id) : undefined
  }

  /** The engine asks for sessions by this, which are not stored, and for device codes, which there are none of. */
  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}

  /** The value stays until it expires: by it the engine recognizes a second use, and ends what the first one gave. */
  async consume(id: string): Promise<void> {
    const { state, usedBefore } = this.dependencies
    const value = await state.get(this.kind, id)
    if (value === undefined) throw usedBefore()
    if (!(await state.take(UNUSED, id))) {
      // Of two at once neither has seen the use of the other, at which the engine would end the grant.
      await state.delete('Grant', String(value['grantId']))
      throw usedBefore()
    }
    const now = Math.floor(Date.now() / 1000)
    const { exp } = value
    await state.set(this.kind, id, { ...value, consumed: now }, typeof exp === 'number' ? exp - now : 60)
  }

  async destroy(id: string): Promise<void> {
    if (this.isStored) await this.dependencies.state.delete(this.kind, id)
  }

  /** The engine ends the grant itself, and nothing that names a grant is good without it. */
  async revokeByGrantId(): Promise<void> {}

  private get isStored(): boolean {
    return this.kind !== 'Client' && this.kind !== 'Session'
  }
}
