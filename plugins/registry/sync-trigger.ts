import type { Gateway } from 'sallyport'
import { Refusal } from 'sallyport'
import { z } from 'zod'
import type { SourceReplica } from './source-replica.js'
import { syncFailure } from './sync-result.js'

const params = z.object({ source: z.string() })

/** `POST /sync/{source}`: reads a source now, and responds when the result is served, or when its leader was asked to. */
export function syncTrigger(
  internal: Gateway['internal'],
  replicaOf: (name: string) => SourceReplica | undefined,
): void {
  internal.post('/sync/:source', async (request, reply) => {
    // A web page in a browser on this machine can send a POST here, but not without `Origin`.
    if (request.headers.origin !== undefined) {
      throw new Refusal(403, 'ORIGIN_FORBIDDEN', 'a browser may not do this')
    }
    const { source } = params.parse(request.params)
    const replica = replicaOf(source)
    if (replica === undefined) return reply.callNotFound()
    const result = await replica.request()
    if (result.outcome === 'requested') reply.code(202)
    if (result.outcome !== 'failed') return { source, ...result }
    throw syncFailure(result)
  })
}
