import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { everything } from '#kit/everything.js'
import { bin } from '#kit/started-program.js'
import { installed } from '../../conformance/installed.js'
import { type Bridge, Running } from './bridge.js'

/** The version of mcp-remote to compare with. */
export const MCP_REMOTE = '0.15.1'

export interface Compared {
  readonly what: string
  readonly unit: 'ms' | 'MB'
  /** Medians over the rounds. */
  readonly ours: number
  readonly theirs: number
  /** The median of ours divided by theirs in each round: noise affects both sides of a round alike. */
  readonly ratio: number
}

/**
 * Measures the built `sallyport proxy stdio` and mcp-remote in turn, each in front of the same reference server. It
 * needs npm, since mcp-remote is no dependency. The first round warms up and does not count.
 */
export async function sideBySide(rounds: number, calls: number): Promise<readonly Compared[]> {
  const ending: (() => unknown)[] = []
  try {
    const home = mkdtempSync(join(tmpdir(), 'sallyport-bench-'))
    ending.push(() => rmSync(home, { recursive: true, force: true }))
    const packages = await installed([`mcp-remote@${MCP_REMOTE}`], { anyNode: true })
    ending.push(packages.remove)
    const target = await everything({ after: (end: () => unknown) => void ending.push(end) })
    const ours = { name: 'sallyport', argv: [bin, 'proxy', 'stdio', 'bench', '--target-uri', target] }
    const theirs = { name: 'mcp-remote', argv: [packages.command('mcp-remote')[1], target] }
    const results: Round[] = []
    for (let round = 0; round <= rounds; round++) {
      process.stderr.write(`round ${round} of ${rounds}\n`)
      // The first of the two changes in every round.
      const first = round % 2 === 0 ? await started(ours, theirs, home) : await started(theirs, ours, home)
      results.push(await measured(round % 2 === 0 ? first : [first[1], first[0]], calls))
    }
    return compared(results.slice(1))
  } finally {
    for (const end of ending.toReversed()) await end()
  }
}

type Pair = readonly [ours: Running, theirs: Running]

interface Measured {
  readonly start: number
  readonly call: number
  readonly memory: number
}

type Round = readonly [ours: Measured, theirs: Measured]

const started = async (one: Bridge, other: Bridge, home: string): Promise<Pair> => [
  await Running.of(one, home),
  await Running.of(other, home),
]

/** Calls both bridges in turn. */
async function measured(pair: Pair, calls: number): Promise<Round> {
  const times: [number[], number[]] = [[], []]
  for (let count = 0; count < calls; count++) {
    times[0].push(await pair[0].call())
    times[1].push(await pair[1].call())
  }
  const figures = (side: 0 | 1): Measured => ({
    start: pair[side].start,
    call: median(times[side]),
    memory: pair[side].memory,
  })
  const round = [figures(0), figures(1)] as const
  await Promise.all(pair.map((bridge) => bridge.end()))
  return round
}

const FIGURES = [
  ['start to the answer of initialize', 'start', 'ms'],
  ['round trip of tools/call, p50', 'call', 'ms'],
  ['memory after the calls', 'memory', 'MB'],
] as const

const compared = (results: readonly Round[]): Compared[] =>
  FIGURES.map(([what, figure, unit]) => ({
    what,
    unit,
    ours: median(results.map(([ours]) => ours[figure])),
    theirs: median(results.map(([, theirs]) => theirs[figure])),
    ratio: median(results.map(([ours, theirs]) => ours[figure] / theirs[figure])),
  }))

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
