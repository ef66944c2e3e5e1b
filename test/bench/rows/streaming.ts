import { join } from 'node:path'
import { type Contestant, startAnnounced } from '../contestant.js'
import { type BenchContext, lastingToken } from '../context.js'
import { LOAD_CORE } from '../cores.js'
import type { Figure } from '../results.js'
import type { ProxyKind } from '../task.js'
import { HttpClient } from './http-client.js'
import { withProxies } from './with-proxies.js'

const script = join(import.meta.dirname, '../servers/streaming-target.ts')

/** A contestant, and a client of it. */
export interface ContestantClient {
  readonly contestant: Contestant
  readonly client: HttpClient
}

/** Measures streams and bodies through every proxy that verifies RS256 and adds a bearer and two headers. */
export async function measureStreaming(
  context: BenchContext,
  work: (all: readonly ContestantClient[], direct: HttpClient) => Promise<readonly Figure[]>,
  without: readonly ProxyKind[] = [],
): Promise<readonly Figure[]> {
  const { RS256 } = context.issuers
  const token = await lastingToken(RS256.issuer)
  const target = await startAnnounced('target', ['-C', 'source', '--import', 'tsx', script], {
    core: LOAD_CORE,
  })
  const task = {
    target: target.port,
    incoming: { kind: 'jwt', ...RS256 } as const,
    bearer: 'bench',
    headers: { 'X-A': '1', 'X-B': '2' },
  }
  const asking = async (contestants: readonly Contestant[]): Promise<readonly Figure[]> => {
    const direct = new HttpClient(target.port)
    const all = contestants.map((contestant) => ({
      contestant,
      client: new HttpClient(contestant.port, token),
    }))
    try {
      return await work(all, direct)
    } finally {
      for (const client of [direct, ...all.map((one) => one.client)]) client.close()
    }
  }
  return withProxies(context, task, target, asking, without)
}
