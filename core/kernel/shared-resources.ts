import { hkdfSync, randomBytes } from 'node:crypto'

interface Resource {
  readonly value: unknown
  users: number
}

/** A reference to a shared value. The last release closes the value. */
interface Lease<T> {
  readonly value: T
  release(): Promise<void>
}

/** Values that outlive a reload: each exists as long as a list uses it. */
export class SharedResources {
  private readonly resources = new Map<string, Resource>()

  /** `key` is the same in all processes that serve the same list. */
  constructor(private readonly key: Uint8Array = randomBytes(32)) {}

  keyFor(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.key, '', purpose, 32))
  }

  acquire<T>(key: string, open: () => T, close?: (value: T) => void | Promise<void>): Lease<T> {
    const resource = this.resources.get(key) ?? { value: open(), users: 0 }
    this.resources.set(key, resource)
    resource.users++
    // The key contains the plugin's name, so the value is of the type that its `open` makes.
    const value = resource.value as T
    return {
      value,
      release: async () => {
        resource.users--
        if (resource.users > 0) return
        this.resources.delete(key)
        await close?.(value)
      },
    }
  }
}
