import { type ASTNode, Environment, ParseError } from '@marcbachmann/cel-js'
import type { Identity, McpCall, McpSubject } from 'sallyport'
import { globOf, matchesGlob } from 'sallyport/toolkit'

/** The variables of an expression. */
export interface Input {
  readonly identity: Identity | undefined
  readonly call: Pick<McpCall, 'method' | 'kind'>
  readonly subject: McpSubject | undefined
}

/** Whether an expression is true for a call, or why it has no result. */
export type Expression = (input: Input) => boolean | { readonly failure: string }

// Enough for an expression that an operator writes by hand, and too little for a hundred nested loops.
const LIMITS = {
  maxAstNodes: 1_000,
  maxDepth: 50,
  maxListElements: 500,
  maxMapEntries: 100,
  maxCallArguments: 8,
}

// With these functions an expression of one line could take minutes, or all memory, for one name.
const REFUSED = new Map([
  [
    'matches',
    '`matches` is not supported, since a regular expression can take hours for a name that a caller sends; write glob(text, pattern)',
  ],
  [
    'split',
    '`split` is not supported, since a name could become any number of texts; write glob(text, pattern)',
  ],
  [
    'join',
    '`join` is not supported, since its text could have any length; compare the values of the list one by one',
  ],
  [
    'bind',
    '`cel.bind` is not supported, since a text could grow with each use; write the value where it is used',
  ],
])
const LOOPS = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])
const LOOP_IN_LOOP =
  '`all`, `exists`, `exists_one`, `map` and `filter` cannot be used on or in one another, since their times multiply; write two with && or ||, or `in`'

/** The expression of a text, or the fault in it and its position. */
export function parseExpression(text: string): Expression | { readonly fault: string } {
  try {
    const parsed = environment().parse(text)
    const fault = tooSlow(parsed.ast)
    if (fault !== undefined) return { fault }
    const { valid, type, error } = parsed.check()
    if (!valid) return { fault: `${error?.summary}${columnOf(error?.range)}` }
    if (type !== 'bool')
      return { fault: `expected true or false as the result, but the type is ${type}; compare with ==` }
    return (input) => resultOf(parsed, input)
  } catch (error) {
    if (!(error instanceof ParseError)) throw error
    return { fault: `${error.summary}${columnOf(error.range)}` }
  }
}

function environment(): Environment {
  return new Environment({ limits: LIMITS })
    .registerVariable({
      name: 'identity',
      schema: { provider: 'string', subject: 'string', scopes: 'list<string>', claims: 'map' },
    })
    .registerVariable({ name: 'call', schema: { method: 'string', kind: 'string' } })
    .registerVariable({ name: 'subject', schema: { kind: 'string', name: 'string' } })
    .registerFunction('glob(string, string): bool', (text: string, pattern: string) =>
      matchesGlob(globOf(pattern), text),
    )
}

function resultOf(
  parsed: ReturnType<Environment['parse']>,
  { identity, call: { method, kind }, subject }: Input,
): ReturnType<Expression> {
  const { provider = '', subject: name = '', scopes = [], claims = {} } = identity ?? {}
  try {
    const result: unknown = parsed({
      identity: { provider, subject: name, scopes, claims },
      call: { method, kind },
      subject: { kind: subject?.kind ?? '', name: subject?.name ?? '' },
    })
    return typeof result === 'boolean' ? result : { failure: 'the result is neither true nor false' }
  } catch (error) {
    // The code only: the summary of the error may quote a value.
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    return { failure: `the expression fails (${code.replaceAll('_', ' ')})` }
  }
}

const columnOf = (range: { readonly start: number } | undefined): string =>
  range === undefined ? '' : `, at character ${range.start + 1}`

/** The first part of an expression that could take an unbounded time. */
function tooSlow(node: unknown, isInLoop = false): string | undefined {
  if (Array.isArray(node)) {
    for (const each of node) {
      const fault = tooSlow(each, isInLoop)
      if (fault !== undefined) return fault
    }
    return undefined
  }
  if (!isNode(node)) return undefined
  const name = node.op === 'rcall' ? String(node.args[0]) : ''
  const isLoop = LOOPS.has(name)
  if (isLoop && isInLoop) return LOOP_IN_LOOP
  return REFUSED.get(name) ?? tooSlow(node.args, isInLoop || isLoop)
}

const isNode = (value: unknown): value is ASTNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value
