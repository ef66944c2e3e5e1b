import { type FetchResult, UpstreamError } from 'sallyport'

export type SyncResult =
  | { readonly outcome: 'changed' | 'unchanged'; readonly versions: number; readonly refused: number }
  | FailedSync

interface FailedSync extends Partial<Pick<UpstreamError, 'statusCode' | 'retryAfter'>> {
  readonly outcome: 'failed'
  readonly reason: string
}

export function failedResult(error: unknown, reason: string): FailedSync {
  const { statusCode, retryAfter } = error instanceof UpstreamError ? error : {}
  return {
    outcome: 'failed',
    reason,
    ...(statusCode !== undefined && { statusCode }),
    ...(retryAfter !== undefined && { retryAfter }),
  }
}

const STATUSES = [502, 503, 504] as const

/** For whoever asked for this sync. */
export const syncFailure = ({ reason, retryAfter, statusCode }: FailedSync): UpstreamError =>
  new UpstreamError('SYNC_FAILED', reason, {
    statusCode: STATUSES.find((each) => each === statusCode) ?? 502,
    ...(retryAfter !== undefined && { retryAfter }),
  })

export function isFetched(result: unknown): result is FetchResult {
  const { kind, payloads }: { kind?: unknown; payloads?: unknown } = Object(result)
  return kind === 'unchanged' || ((kind === 'whole' || kind === 'changes') && Object(payloads) === payloads)
}
