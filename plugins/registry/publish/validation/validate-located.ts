import { type Finding, type Issue, MOST_ISSUES, type Path, type Validation } from './issue.js'
import { jsonForm } from './json-form.js'
import { judge, validationOf } from './validate-server.js'

/** An issue with its line and column in the text of the document, both counted from 1. */
export interface LocatedIssue extends Issue {
  readonly line: number
  readonly column: number
}

export interface LocatedValidation extends Validation {
  readonly issues: readonly LocatedIssue[]
}

interface Offsets {
  readonly value: number
  readonly key: number
}

/** `validateServer` for authors who edit the text: the issues in the order of the text. */
export function validateLocated(bytes: Uint8Array): LocatedValidation {
  const judgement = judge(bytes)
  const { findings, text = '' } = judgement
  const validation = validationOf(judgement)
  const offsets = offsetsIn(text)
  const lines = lineStarts(text)
  const located = validation.issues.map((issue, index) => {
    const found = index < MOST_ISSUES ? findings[index] : undefined
    return { ...issue, ...placeOf(found === undefined ? 0 : offsetOf(found, offsets), lines) }
  })
  const inOrder = located.slice(0, MOST_ISSUES).sort((a, b) => a.line - b.line || a.column - b.column)
  return { ...validation, issues: [...inOrder, ...located.slice(MOST_ISSUES)] }
}

function offsetsIn(text: string): ReadonlyMap<string, Offsets> {
  const offsets = new Map<string, Offsets>()
  // The last of repeated members counts, as in JSON.parse.
  jsonForm(text, (path, value, key) => offsets.set(keyOf(path), { value, key: key ?? value }))
  return offsets
}

/** The position of a finding; for a missing member, the start of the nearest value around it. */
function offsetOf({ at, offset, reference }: Finding, offsets: ReadonlyMap<string, Offsets>): number {
  if (offset !== undefined) return offset
  const path = at.length === 1 && at[0] === 'schema' ? ['$schema'] : at
  const found = offsets.get(keyOf(path))
  const isAboutName = reference === 'duplicate-member' || reference.endsWith('/additionalProperties')
  if (found !== undefined) return isAboutName ? found.key : found.value
  const around = path.map((_, index) => offsets.get(keyOf(path.slice(0, index))))
  return around.findLast((each) => each !== undefined)?.value ?? 0
}

const keyOf = (path: Path): string => JSON.stringify(path)

function lineStarts(text: string): readonly number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function placeOf(
  offset: number,
  starts: readonly number[],
): { readonly line: number; readonly column: number } {
  const line = starts.findLastIndex((start) => start <= offset)
  return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 }
}
