import type { Paint } from '../../colour.js'
import { hidden } from '../../config/hidden.js'
import { printable } from '../../terminal.js'
import type { Finding } from './finding-list.js'

/** Findings as lines for a person, or as JSON for a program. */
export function findingsText(found: readonly Finding[], json: boolean, paint: Paint): string {
  const findings = found.map(withoutHidden)
  if (json) return JSON.stringify(findings, undefined, 2)
  if (findings.length === 0) return 'this list depends on nothing outside'
  const width = Math.max(0, ...findings.map(({ about }) => about.length))
  return findings.map((finding) => lineOf(finding, width, paint)).join('\n')
}

const withoutHidden = (finding: Finding): Finding => {
  const { about, detail, advice } = finding
  const more = advice === undefined ? {} : { advice: hidden.text(advice) }
  return { ...finding, about: hidden.text(about), detail: hidden.text(detail), ...more }
}

function lineOf({ about, check, state, detail, advice }: Finding, width: number, paint: Paint): string {
  const what = `${state.padEnd(7)} ${about.padEnd(width)}  ${check}: ${detail}`
  const line = printable(`${what}${advice === undefined ? '' : `; ${advice}`}`)
  return state === 'wrong' ? paint('red', line) : line
}
