import { hash } from 'node:crypto'

/** The most sessions whose replica is remembered. */
const MAX_SESSIONS = 20_000

export interface Replica {
  readonly origin: string
  /** Until this time of the monotonic clock the replica gets requests only if no other is left. */
  outUntil: number
  /** The same for requests without a session. */
  slowUntil: number
}

/** Which requests a replica does not get for a while. `new sessions` are requests without a session. */
export type Exclusion = 'all' | 'new sessions' | 'none'

/** The servers that run the same program, and the choice among them. */
export class Replicas {
  private readonly list: readonly Replica[]
  private next = 0

  constructor(
    origins: readonly string[],
    private readonly leaveOutFor: number,
    /** The origin of the replica that began each session, the least recently used first. */
    private readonly startedBy = new Map<string, string>(),
  ) {
    this.list = origins.map((origin) => ({ origin, outUntil: 0, slowUntil: 0 }))
  }

  get size(): number {
    return this.list.length
  }

  /** The replica of this session, or else the next in turn; undefined when all were tried. */
  choose(session: string | undefined, tried: ReadonlySet<Replica>): Replica | undefined {
    const now = performance.now()
    const left = this.list.filter((replica) => !tried.has(replica))
    const inUse = left.filter(({ outUntil, slowUntil }) =>
      session === undefined ? Math.max(outUntil, slowUntil) <= now : outUntil <= now,
    )
    const candidates = inUse.length > 0 ? inUse : left
    if (session === undefined) return this.nextOf(candidates)
    const origin = this.startedBy.get(session)
    if (origin !== undefined) this.remember(session, origin)
    return candidates.find((replica) => replica.origin === origin) ?? closest(candidates, session)
  }

  leaveOut(replica: Replica, exclusion: Exclusion): void {
    const until = performance.now() + this.leaveOutFor
    if (exclusion === 'all') replica.outUntil = until
    if (exclusion === 'new sessions') replica.slowUntil = until
  }

  /** Remembers the session, although hashing may lead to the same replica: with other replicas it would not. */
  sessionStarted(session: string, { origin }: Replica): void {
    this.remember(session, origin)
    const [oldest] = this.startedBy.keys()
    if (this.startedBy.size > MAX_SESSIONS && oldest !== undefined) this.startedBy.delete(oldest)
  }

  sessionEnded(session: string): void {
    this.startedBy.delete(session)
  }

  /** Moves the session to the end: the session that is unused for longest is forgotten first. */
  private remember(session: string, origin: string): void {
    this.startedBy.delete(session)
    this.startedBy.set(session, origin)
  }

  private nextOf(candidates: readonly Replica[]): Replica | undefined {
    for (let passed = 0; passed < this.list.length; passed++) {
      const replica = this.list[this.next++ % this.list.length]
      if (replica !== undefined && candidates.includes(replica)) return replica
    }
    return undefined
  }
}

/** Rendezvous hashing: when a replica is added or left out, only its own sessions move. */
function closest(replicas: readonly Replica[], session: string): Replica | undefined {
  let found: Replica | undefined
  let best = ''
  for (const replica of replicas) {
    const score = hash('sha256', `${replica.origin} ${session}`)
    if (score <= best) continue
    best = score
    found = replica
  }
  return found
}
