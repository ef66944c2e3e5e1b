import type { Breath } from './breath.js'
import { type Holding, NOTHING } from './holding.js'
import { type NameBytes, NameList, shared, sharedNumbers } from './names.js'

/** A server in a holding. */
export interface HeldServer {
  readonly holding: Holding
  readonly server: number
}

/** Sources laid over each other: the first that has a name gives all versions of it. */
export class Layers {
  private constructor(
    readonly names: NameList,
    private readonly holdings: readonly Holding[],
    /** For each name, which holding it comes from and where it is there; nothing when there is one holding. */
    private readonly origin: { readonly holding: Uint32Array; readonly server: Uint32Array } | undefined,
    /** How many versions there are. */
    readonly size: number,
  ) {}

  at(index: number): HeldServer {
    const holding = this.holdings[this.origin?.holding[index] ?? 0] ?? NOTHING
    return { holding, server: this.origin?.server[index] ?? index }
  }

  static async of(holdings: readonly Holding[], breath: Breath): Promise<Layers> {
    const [only = NOTHING, ...others] = holdings
    if (others.length === 0) return new Layers(only.rows.names, [only], undefined, only.size)

    const most = holdings.reduce((sum, { rows }) => sum + rows.names.length, 0)
    const room = holdings.reduce((sum, { columns }) => sum + columns.names.length, 0)
    const bytes: NameBytes = {
      names: shared(room),
      searchable: shared(room),
      nameStart: sharedNumbers(most + 1),
    }
    const origin = { holding: sharedNumbers(most), server: sharedNumbers(most) }
    let count = 0
    let end = 0
    let size = 0
    for (const { holding, server } of merged(holdings)) {
      const { rows } = holdings[holding] ?? NOTHING
      origin.holding[count] = holding
      origin.server[count] = server
      end = rows.names.copy(server, bytes, end)
      bytes.nameStart[++count] = end
      size += rows.end(server) - rows.first(server)
      if (breath.due) await breath.take()
    }
    const names = new NameList({
      names: bytes.names.subarray(0, end),
      searchable: bytes.searchable.subarray(0, end),
      nameStart: bytes.nameStart.subarray(0, count + 1),
    })
    return new Layers(names, holdings, origin, size)
  }
}

/** The servers of all holdings in the order of names, each name once. */
function* merged(
  holdings: readonly Holding[],
): Generator<{ readonly holding: number; readonly server: number }> {
  const names = holdings.map(({ rows }) => rows.names)
  const next = holdings.map(() => 0)
  const compare = (a: number, b: number): number =>
    names[a]?.compare(next[a] ?? 0, names[b] ?? NOTHING.rows.names, next[b] ?? 0) ?? 0
  for (;;) {
    const left = [...names.keys()].filter((index) => (next[index] ?? 0) < (names[index]?.length ?? 0))
    const [first, ...others] = left
    if (first === undefined) return
    const least = others.reduce((best, index) => (compare(index, best) < 0 ? index : best), first)
    yield { holding: least, server: next[least] ?? 0 }
    for (const index of left.filter((each) => each !== least && compare(each, least) === 0)) {
      next[index] = (next[index] ?? 0) + 1
    }
    next[least] = (next[least] ?? 0) + 1
  }
}
