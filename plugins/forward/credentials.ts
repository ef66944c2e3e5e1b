import type { FastifyRequest } from 'fastify'
import {
  type Credential,
  GatewayError,
  type Held,
  isPromise,
  type TargetRefusal,
  UpstreamError,
  within,
} from 'sallyport'

const DEADLINE = 15_000

/** The credentials of a list as one: folded on the way out, and asked to renew when the target refused. */
export class Credentials {
  readonly any: boolean
  readonly renewable: boolean

  constructor(private readonly list: readonly Credential[]) {
    this.any = list.length > 0
    this.renewable = list.some((credential) => credential.renew !== undefined)
  }

  hold(request: FastifyRequest): Held | undefined | Promise<Held | undefined> {
    return this.fold(request, undefined, 0)
  }

  /** Asks all that can: an exchange forgets its token, and the login before it gets a new one. */
  async renew(request: FastifyRequest, refused: TargetRefusal): Promise<boolean> {
    let again = false
    for (const credential of this.list) {
      const answer = await this.settled(credential, () => credential.renew?.(request, refused) ?? false)
      again ||= answer
    }
    return again
  }

  private fold(
    request: FastifyRequest,
    before: Held | undefined,
    from: number,
  ): Held | undefined | Promise<Held | undefined> {
    let held = before
    for (let index = from; index < this.list.length; index++) {
      const credential = this.list[index]
      if (credential === undefined) continue
      const next = this.settled(credential, () => credential.present(request, held))
      if (isPromise(next)) return next.then((late) => this.fold(request, late, index + 1))
      held = next
    }
    return held
  }

  private settled<T>(credential: Credential, ask: () => T | Promise<T>): T | Promise<T> {
    try {
      const answer = ask()
      return isPromise(answer) ? this.waited(credential, answer) : answer
    } catch (error) {
      throw withheld(credential, error)
    }
  }

  private async waited<T>(credential: Credential, answer: PromiseLike<T>): Promise<T> {
    const { deadline = DEADLINE } = credential
    try {
      return await within(deadline, answer, () => notReady(credential, deadline))
    } catch (error) {
      throw withheld(credential, error)
    }
  }
}

function notReady({ name }: Credential, deadline: number): UpstreamError {
  return new UpstreamError('CREDENTIAL_NOT_READY', 'the credential for the target is not ready yet', {
    statusCode: 503,
    retryAfter: 5,
    cause: new Error(`${name} did not answer within ${deadline / 1000} s`),
  })
}

/** What a credential throws on purpose passes; anything else keeps the request in all the same. */
function withheld({ name }: Credential, cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause
  const failure = new Error(`${name} failed`, { cause })
  return new UpstreamError('CREDENTIAL_FAILED', 'there is no credential for the target', { cause: failure })
}
