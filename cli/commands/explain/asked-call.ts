import type { McpSubject, Problem } from 'sallyport'
import { METHOD_FOR } from 'sallyport/toolkit'

/** A call as a client would make it. */
export interface AskedCall {
  readonly method: string
  readonly subject: McpSubject | undefined
}

interface Flags {
  readonly tool?: string | undefined
  readonly prompt?: string | undefined
  readonly resource?: string | undefined
  readonly method?: string | undefined
}

/** The call that the flags name, if they name one. */
export function askedCall(flags: Flags): { readonly call?: AskedCall } | { readonly problem: Problem } {
  const named = (['tool', 'prompt', 'resource'] as const).flatMap((kind): McpSubject[] => {
    const name = flags[kind]
    return name === undefined ? [] : [{ kind, name }]
  })
  const [subject, other] = named
  if (other !== undefined) {
    const message = 'expected a tool, a prompt or a resource, and not several of them'
    return { problem: { place: `--${other.kind}`, message } }
  }
  const method = flags.method ?? (subject && METHOD_FOR[subject.kind])
  return method === undefined ? {} : { call: { method, subject } }
}

export const textOf = ({ method, subject }: AskedCall): string =>
  subject === undefined ? method : `${method} of the ${subject.kind} ${JSON.stringify(subject.name)}`
