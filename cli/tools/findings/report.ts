import type { Paint } from '../colour.js'
import type { Finding } from './chart.js'

/** Findings as lines for a person, or as JSON for a program. */
export function told(findings: readonly Finding[], json: boolean, paint: Paint): string {
  if (json) return JSON.stringify(findings, undefined, 2)
  if (findings.length === 0) return 'nothing is needed from outside'
  const width = Math.max(0, ...findings.map(({ about }) => about.length))
  return findings.map((finding) => lineOf(finding, width, paint)).join('\n')
}

function lineOf({ about, check, state, detail, advice }: Finding, width: number, paint: Paint): string {
  const what = `${state.padEnd(7)} ${about.padEnd(width)}  ${check}: ${detail}`
  const line = `${what}${advice === undefined ? '' : `; ${advice}`}`.replaceAll(/\p{Cc}/gu, ' ')
  return state === 'wrong' ? paint('red', line) : line
}
