import { isDeepStrictEqual } from 'node:util'
import { type Fields, fieldsOf, type Message } from './messages.js'

/** What the client has told the target that a session keeps, so that another session can be told the same. */
export class Memory {
  private readonly told = new Map<string, Message>()
  private agreed: Fields | undefined

  note(message: Message): void {
    const { method, params } = message.single
    const { uri } = fieldsOf(params)
    if (method === 'initialize') this.told.clear()
    if (method === 'resources/unsubscribe') this.told.delete(`resources/subscribe ${String(uri)}`)
    else if (method === 'resources/subscribe') this.told.set(`${method} ${String(uri)}`, message)
    else if (typeof method === 'string' && KEPT.has(method)) {
      this.told.delete(method)
      this.told.set(method, message)
    }
  }

  /** `initialize` first; none when there was no such thing. */
  get messages(): readonly Message[] {
    return [...this.told.values()]
  }

  /** Whether this is the answer to `initialize`. */
  answersInitialize({ answers, single }: Message): boolean {
    const [id] = this.told.get('initialize')?.asks ?? []
    return id !== undefined && answers.includes(id) && single['result'] !== undefined
  }

  agree(answer: Message): void {
    this.agreed = fieldsOf(answer.single['result'])
  }

  /** Whether the client may go on as if nothing had happened: what was agreed before is agreed again. */
  isAgain(answer: Message): boolean {
    const again = fieldsOf(answer.single['result'])
    return (
      this.agreed !== undefined &&
      ['protocolVersion', 'capabilities'].every((name) => isDeepStrictEqual(again[name], this.agreed?.[name]))
    )
  }
}

const KEPT: ReadonlySet<string> = new Set(['initialize', 'notifications/initialized', 'logging/setLevel'])
