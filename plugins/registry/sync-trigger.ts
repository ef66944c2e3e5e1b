import type { Gateway } from 'sallyport'
import { Refusal, UpstreamError } from 'sallyport'
import { z } from 'zod'
import type { SourceSync } from './source-sync.js'

const params = z.object({ source: z.string() })

/** `POST /sync/{source}`: reads a source now, and answers when what it has is being served. */
export function syncTrigger(
  internal: Gateway['internal'],
  syncOf: (name: string) => SourceSync | undefined,
): void {
  internal.post('/sync/:source', async (request, reply) => {
    // A page in a browser on this machine can send a POST here; it cannot leave out where it comes from.
    if (request.headers.origin !== undefined) {
      throw new Refusal(403, 'ORIGIN_FORBIDDEN', 'a browser may not do this')
    }
    const { source } = params.parse(request.params)
    const sync = syncOf(source)
    if (sync === undefined) return reply.callNotFound()
    const result = await sync.sync()
    if (result.outcome !== 'failed') return { source, ...result }
    const { reason, retryAfter } = result
    throw new UpstreamError('SYNC_FAILED', reason, { ...(retryAfter !== undefined && { retryAfter }) })
  })
}
