import type { FastifyRequest } from 'fastify'
import {
  type Credential,
  GatewayError,
  type OutgoingCredential,
  type TargetRefusal,
  UpstreamError,
} from 'sallyport'
import { isPromise, within } from 'sallyport/toolkit'

const DEFAULT_DEADLINE = 15_000

/** All credential plugins of a list: presents them in order, and renews them when the target refuses. */
export class OutgoingCredentials {
  readonly any: boolean
  readonly renewable: boolean

  constructor(private readonly list: readonly Credential[]) {
    this.any = list.length > 0
    this.renewable = list.some((credential) => credential.renew !== undefined)
  }

  present(request: FastifyRequest): OutgoingCredential | undefined | Promise<OutgoingCredential | undefined> {
    return this.presentFrom(request, undefined, 0)
  }

  /** Renews with every plugin that can: a token exchange drops its token, and the login before it gets a new one. */
  async renew(request: FastifyRequest, refused: TargetRefusal): Promise<boolean> {
    let renewed = false
    for (const credential of this.list) {
      const result = await this.run(credential, () => credential.renew?.(request, refused) ?? false)
      renewed ||= result
    }
    return renewed
  }

  private presentFrom(
    request: FastifyRequest,
    before: OutgoingCredential | undefined,
    start: number,
  ): OutgoingCredential | undefined | Promise<OutgoingCredential | undefined> {
    let presented = before
    for (let index = start; index < this.list.length; index++) {
      const credential = this.list[index]
      if (credential === undefined) continue
      const next = this.run(credential, () => credential.present(request, presented))
      if (isPromise(next))
        return next.then((late) => this.presentFrom(request, checked(credential, late), index + 1))
      presented = checked(credential, next)
    }
    return presented
  }

  private run<T>(credential: Credential, action: () => T | Promise<T>): T | Promise<T> {
    try {
      const result = action()
      return isPromise(result) ? this.withDeadline(credential, result) : result
    } catch (error) {
      throw credentialFailure(credential, error)
    }
  }

  private async withDeadline<T>(credential: Credential, result: PromiseLike<T>): Promise<T> {
    const { deadline = DEFAULT_DEADLINE } = credential
    try {
      return await within(deadline, result, () => notReady(credential, deadline))
    } catch (error) {
      throw credentialFailure(credential, error)
    }
  }
}

/** Refuses other values: the gateway would send the request without a credential, or blame the target for an error. */
function checked(credential: Credential, presented: unknown): OutgoingCredential | undefined {
  if (presented === undefined || isCredential(presented)) return presented
  throw credentialFailure(credential, new Error('it presented neither a header with its value nor undefined'))
}

function isCredential(presented: unknown): presented is OutgoingCredential {
  const { header, value }: Partial<Record<keyof OutgoingCredential, unknown>> = Object(presented)
  return typeof header === 'string' && typeof value === 'string' && value !== ''
}

function notReady({ name }: Credential, deadline: number): UpstreamError {
  return new UpstreamError('CREDENTIAL_NOT_READY', 'the credential for the target is not ready yet', {
    statusCode: 503,
    retryAfter: 5,
    cause: new Error(`${name} did not settle within ${deadline / 1000} s`),
  })
}

/** A `GatewayError` passes as it is. Any other error stops the request too, and callers do not see its text. */
function credentialFailure({ name }: Credential, cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause
  const failure = new Error(`${name} failed`, { cause })
  return new UpstreamError('CREDENTIAL_FAILED', 'there is no credential for the target', { cause: failure })
}
