const PLACE = Symbol('place')

/** What can stand in a crowd; in one at a time. */
export interface Member {
  [PLACE]?: number
}

/**
 * A set of what comes and goes with every request. A built-in `Set` makes that dear: each table it outgrows refers
 * to the one after it, so once the collector holds a dead table for old, everything that later tables still name
 * is kept and copied with it. Here nothing refers to what has left.
 */
export class Crowd<T extends object> {
  private readonly members: (T & Member)[] = []

  get size(): number {
    return this.members.length
  }

  enter(member: T & Member): void {
    member[PLACE] = this.members.push(member) - 1
  }

  has(member: T & Member): boolean {
    const place = member[PLACE]
    return place !== undefined && this.members[place] === member
  }

  leave(member: T & Member): void {
    const place = member[PLACE]
    if (place === undefined || this.members[place] !== member) return
    // The last one takes the free place.
    const last = this.members.pop()
    if (last === undefined || last === member) return
    this.members[place] = last
    last[PLACE] = place
  }

  /** Those who stand here now; who enters or leaves meanwhile changes nothing of it. */
  now(): readonly T[] {
    return [...this.members]
  }
}
