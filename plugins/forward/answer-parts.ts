/** In place of an id that is too long to be held. */
export const UNREADABLE = Symbol('unreadable')

/** One answer in a response. */
export interface Answer {
  /** Some errors have none. */
  readonly id: string | number | null | typeof UNREADABLE | undefined
  /** `rpc_error`: an error of JSON-RPC. `tool_error`: a result with `isError`. */
  readonly failure: 'rpc_error' | 'tool_error' | undefined
  /** Of an error of JSON-RPC. */
  readonly code: number | undefined
  /** The tools that its result lists, as far as their names can be labels. */
  readonly tools: readonly string[]
}

/** The members that say what a message is: of itself, of its result, and of a tool in a list. */
export type Member = 'id' | 'method' | 'result' | 'error' | 'isError' | 'tools' | 'name' | 'code'

const MAX_TOOLS = 1000
const TOOL_NAME = /^[\w./-]{1,128}$/

/** What is known of one message. Of a member that comes twice the last one counts, as `JSON.parse` has it. */
export class AnswerParts {
  private id: Answer['id']
  private hasMethod = false
  private hasResult = false
  private hasError = false
  private isError = false
  private code: number | undefined
  private tools: string[] | undefined

  /** A value of the member begins. */
  begin(member: Member): void {
    if (member === 'method') this.hasMethod = true
    else if (member === 'id') this.id = undefined
    else if (member === 'error') {
      this.hasError = true
      this.code = undefined
    } else if (member === 'result') this.hasResult = true
    if (member === 'result' || member === 'isError') this.isError = false
    if (member === 'result' || member === 'tools') this.tools = undefined
  }

  string(member: Member, text: string | undefined): void {
    if (member === 'id') this.id = text ?? UNREADABLE
    else if (member === 'name' && text !== undefined) this.addTool(text)
  }

  scalar(member: Member, text: string | undefined): void {
    if (member === 'isError') this.isError = text === 'true'
    else if (member === 'error' && text === 'null') this.hasError = false
    else if (member === 'code') this.code = codeIn(text)
    else if (member === 'id')
      this.id = text === 'null' ? null : text === undefined ? UNREADABLE : numberIn(text)
  }

  /** Nothing for a message that is none: a request or a notification of the server. */
  get answer(): Answer | undefined {
    const { id, hasMethod, hasResult, hasError, isError, code, tools = NO_TOOLS } = this
    if (hasMethod || !(hasResult || hasError)) return undefined
    const failure = hasError ? 'rpc_error' : isError ? 'tool_error' : undefined
    return { id, failure, code: hasError ? code : undefined, tools }
  }

  private addTool(name: string): void {
    this.tools ??= []
    if (this.tools.length < MAX_TOOLS && TOOL_NAME.test(name)) this.tools.push(name)
  }
}

const NO_TOOLS: readonly string[] = []

function codeIn(text: string | undefined): number | undefined {
  const code = Number(text)
  return Number.isSafeInteger(code) ? code : undefined
}

function numberIn(text: string): number | undefined {
  const number = Number(text)
  return Number.isNaN(number) ? undefined : number
}
