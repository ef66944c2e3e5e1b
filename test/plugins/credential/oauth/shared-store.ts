import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout } from 'node:timers/promises'
import { definePlugin, type StateStore, StateStore as StateStoreKey, UpstreamError } from 'sallyport'

/** A store of several replicas. A test can take their locks away: the store then refuses writes under these locks. */
export class SharedStore {
  readonly values = new Map<string, string>()
  isAway = false
  /** Whether locks are lost as soon as they are taken. */
  losesLocks = false
  private readonly holders = new Map<string, object>()

  /** Like the end of the connections that hold a lock. */
  loseLocks(): void {
    this.holders.clear()
  }

  isLocked(key: string): boolean {
    return this.holders.has(key)
  }

  /** The store as one replica sees it; `onRead` runs when it has read a session. */
  replica(onRead: () => unknown = () => {}): StateStore {
    const { values, holders } = this
    const refuseAway = (): void => {
      if (this.isAway) throw new UpstreamError('STORE_AWAY', 'the store is away')
    }
    const keepsLocks = (): boolean => !this.losesLocks
    const held = new AsyncLocalStorage<{ readonly key: string; isReleased: boolean }>()
    const refuseLost = (): void => {
      refuseAway()
      const lock = held.getStore()
      if (lock !== undefined && !lock.isReleased && holders.get(lock.key) !== lock)
        throw new UpstreamError('LOCK_LOST', 'the lock was lost')
    }
    return {
      async get(key) {
        refuseAway()
        const value = values.get(key)
        if (key.startsWith('oauth/session/')) await onRead()
        return value
      },
      async set(key, value) {
        refuseLost()
        values.set(key, value)
      },
      async take(key) {
        refuseLost()
        const value = values.get(key)
        values.delete(key)
        return value
      },
      async delete(key) {
        refuseLost()
        values.delete(key)
      },
      keys: async () => [...values.keys()],
      async locked(key, work) {
        refuseAway()
        while (holders.has(key)) await setTimeout(5)
        const lock = { key, isReleased: false }
        if (keepsLocks()) holders.set(key, lock)
        try {
          return await held.run(lock, work)
        } finally {
          lock.isReleased = true
          if (holders.get(key) === lock) holders.delete(key)
        }
      },
    }
  }

  plugin(onRead?: () => unknown) {
    return definePlugin({
      name: 'state/shared',
      api: 1,
      provides: [StateStoreKey],
      setup: (gateway) => gateway.provide(StateStoreKey, this.replica(onRead)),
    })
  }
}
