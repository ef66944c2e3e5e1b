// What `sallyport/toolkit` exported under other names, kept for one more release.

export {
  /** @deprecated now `excludeFromDrain` */
  excludeFromDrain as lastsWhileListened,
} from './http/in-flight.js'
export {
  /** @deprecated now `ProcessGroupOptions` */
  type ProcessGroupOptions as LeashOptions,
  /** @deprecated now `spawnProcessGroup` */
  spawnProcessGroup as spawnLeashed,
} from './toolkit/process-group.js'
export type {
  /** @deprecated now `SecretLocations` */
  SecretLocations as SecretPlaces,
} from './toolkit/secret.js'

/** @deprecated use a `Set` */
export class Crowd<T extends object> extends Set<T> {
  enter(member: T): void {
    this.add(member)
  }

  leave(member: T): void {
    this.delete(member)
  }

  now(): readonly T[] {
    return [...this]
  }
}
