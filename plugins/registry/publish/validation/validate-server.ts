import { type Finding, type Issue, MOST_ISSUES, pathText, type Validation } from './issue.js'
import { isError, type Judgement, judge } from './judge.js'

export type { Issue, Validation } from './issue.js'

/** Judges the bytes of a server document: all that is wrong with it, at once. The caller bounds their number. */
export function validateServer(bytes: Uint8Array): Validation {
  return validationOf(judge(bytes))
}

export function validationOf({ findings, more, isJson, name, version }: Judgement): Validation {
  const valid = more === 0 && !findings.some(isError)
  return { valid, isJson, name, version, issues: issuesOf(findings, more) }
}

function issuesOf(findings: readonly Finding[], more: number): readonly Issue[] {
  const issues = findings.slice(0, MOST_ISSUES).map(issueOf)
  const untold = findings.slice(MOST_ISSUES)
  const count = untold.length + more
  if (count === 0) return issues
  const severity = more > 0 || untold.some(isError) ? 'error' : 'warning'
  const message = `there are ${count} more: correct those above first`
  return [...issues, { type: 'linter', path: '', message, severity, reference: 'too-many-issues' }]
}

const issueOf = ({ type, at, message, severity, reference }: Finding): Issue => ({
  type,
  path: pathText(at),
  message,
  severity,
  reference,
})
