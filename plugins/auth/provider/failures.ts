import { GatewayError, UpstreamError } from 'sallyport'

/** The class of what kept a provider from telling: out of reach, another issuer's metadata, or nonsense. */
export function unavailableCause(error: unknown): 'unreachable' | 'issuer' | 'answer' {
  if (error instanceof UpstreamError) return 'unreachable'
  return error instanceof GatewayError && error.code === 'ISSUER_MISMATCH' ? 'issuer' : 'answer'
}
