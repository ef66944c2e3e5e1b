import type { Worker } from 'node:cluster'
import { ConfigError, type Problem } from 'sallyport'
import { LogScrubber } from 'sallyport/embed'

/** The functions that one process may call in another. The argument and the result are copied. */
type Callable<Calls> = { readonly [Name in keyof Calls]: (argument: never) => Promise<unknown> }

interface PendingCall {
  readonly resolve: (result: never) => void
  readonly reject: (error: Error) => void
}

type Message =
  | { readonly id: number; readonly call: string; readonly argument: unknown }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failure: readonly Problem[] | Error }

/** Calls between the first process and a worker, in both directions. */
export class Channel<Remote extends Callable<Remote>, Local extends Callable<Local>> {
  private readonly pending = new Map<number, PendingCall>()
  private calls = 0

  constructor(
    private readonly worker: Worker,
    private readonly local: Local,
    private readonly scrubber = new LogScrubber(),
  ) {
    worker.on('message', (message: Message) => void this.receive(message))
  }

  call<Name extends keyof Remote & string>(
    call: Name,
    argument: Parameters<Remote[Name]>[0],
  ): Promise<Awaited<ReturnType<Remote[Name]>>> {
    const id = this.calls++
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject })
      this.send({ id, call, argument }, (error) => error && reject(error))
    })
  }

  /** Rejects all pending calls: the other process has ended. */
  close(error: Error): void {
    for (const { reject } of this.pending.values()) reject(error)
    this.pending.clear()
  }

  private async receive(message: Message): Promise<void> {
    const { id } = message
    if ('call' in message) return this.answer(id, message.call, message.argument)
    if ('failure' in message) this.pending.get(id)?.reject(errorOf(message.failure))
    else this.pending.get(id)?.resolve(message.result as never)
    this.pending.delete(id)
  }

  private async answer(id: number, call: string, argument: unknown): Promise<void> {
    try {
      // The types of both processes are the same.
      this.send({ id, result: await this.local[call as keyof Local](argument as never) })
    } catch (error) {
      this.send({ id, failure: failureOf(error, this.scrubber) })
    }
  }

  private send(message: Message, sent: (error: Error | null) => void = () => {}): void {
    this.worker.send(message, sent)
  }
}

/** Scrubbed here, since only this process knows the secrets that its plugins have read. */
function failureOf(error: unknown, scrubber: LogScrubber): readonly Problem[] | Error {
  if (error instanceof ConfigError) return error.problems
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error))
  return Object.assign(new Error(scrubber.text(message)), { stack: scrubber.text(stack) })
}

const errorOf = (failure: readonly Problem[] | Error): Error =>
  failure instanceof Error ? failure : new ConfigError(failure)
