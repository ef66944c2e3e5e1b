import { join } from 'node:path'
import { announced, type Contestant } from '../contestant.js'
import { LOADING } from '../cores.js'
import type { Figure } from '../results.js'
import type { ProxyKind } from '../task.js'
import { lastingToken, type World } from '../world.js'
import { Asker } from './asker.js'
import { standing } from './standing.js'

const script = join(import.meta.dirname, '../servers/long.ts')

/** A contestant, and who asks it. */
export interface Asked {
  readonly contestant: Contestant
  readonly asker: Asker
}

/** Measures what is long through everyone who verifies RS256 and adds a bearer and two headers. */
export async function measureLong(
  world: World,
  work: (everyone: readonly Asked[], direct: Asker) => Promise<readonly Figure[]>,
  without: readonly ProxyKind[] = [],
): Promise<readonly Figure[]> {
  const { RS256 } = world.issuers
  const token = await lastingToken(RS256.issuer)
  const target = await announced('target', ['-C', 'source', '--import', 'tsx', script], { core: LOADING })
  const task = {
    target: target.port,
    incoming: { kind: 'jwt', ...RS256 } as const,
    bearer: 'bench',
    headers: { 'X-A': '1', 'X-B': '2' },
  }
  const asking = async (contestants: readonly Contestant[]): Promise<readonly Figure[]> => {
    const direct = new Asker(target.port)
    const everyone = contestants.map((contestant) => ({
      contestant,
      asker: new Asker(contestant.port, token),
    }))
    try {
      return await work(everyone, direct)
    } finally {
      for (const asker of [direct, ...everyone.map((one) => one.asker)]) asker.close()
    }
  }
  return standing(world, task, target, asking, without)
}
