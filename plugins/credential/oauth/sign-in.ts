import { type Log, UpstreamError } from 'sallyport'
import type { Login, Wish } from './login.js'
import { lateLogin, looping, unavailable } from './login-failures.js'
import type { Session, SessionShelf } from './session.js'

/** For this long a login that failed is not tried again: a browser that opens with every request is no help to anybody. */
export const REST_AFTER_FAILURE = 3_000
// More logins than this in so little time are no person's doing.
const LOOP_LOGINS = 12
const LOOP_WINDOW = 300_000

interface Surroundings {
  readonly timeout: number
  readonly shelf: SessionShelf
  readonly login: Login
  readonly log: Log
}

/** Asks whoever has to be asked for a login, within its limit, and tells what came of it. */
export class SignIn {
  /** How many there were. */
  count = 0
  private begun: number[] = []
  // What failed before this process was there may be what it was started again for.
  private readonly born = Date.now()

  constructor(
    private readonly surroundings: Surroundings,
    private readonly ending: AbortSignal,
  ) {}

  /** Under the lock of this login, for which it was waited since that time. */
  async run(wish: Wish, waitingSince: number): Promise<Session> {
    const { timeout, shelf, login, log } = this.surroundings
    const lately = Math.min(waitingSince, Date.now() - REST_AFTER_FAILURE)
    const failed = await shelf.failureAfter(Math.max(this.born, lately))
    if (failed !== undefined) throw failed
    this.refuseLoop()
    log.info('signing in to the target')
    const limit = AbortSignal.timeout(timeout)
    try {
      const session = await login.run(wish, AbortSignal.any([limit, this.ending]))
      this.count++
      log.info({ issuer: session.server.issuer }, 'signed in to the target')
      return session
    } catch (error) {
      const failure = limit.aborted ? lateLogin(timeout) : unavailable(error)
      if (!this.ending.aborted) await this.tell(failure)
      throw failure
    }
  }

  private refuseLoop(): void {
    this.begun = this.begun.filter((at) => at > Date.now() - LOOP_WINDOW)
    if (this.begun.length >= LOOP_LOGINS) throw looping()
    this.begun.push(Date.now())
  }

  private async tell(failure: unknown): Promise<void> {
    const { shelf, log } = this.surroundings
    log.error({ err: failure }, 'signing in to the target failed')
    // A store that takes nothing has others find out by themselves.
    if (failure instanceof UpstreamError) await shelf.failed(failure).catch(() => {})
  }
}
