import { conformanceSuites } from 'sallyport/testing'
import { benchmark, speed } from '../../bench/readme.js'
import { allowedDifferences } from '../../plugins/forward/allowed-differences.js'
import { type ErrorCode, errorCodes, statusesOf } from '../error-codes.js'
import { table } from '../markdown.js'
import { capabilitiesInSource, instrumentsInSource } from '../source.js'
import { flags } from './flags.js'
import { kinds, plugins, settings } from './options.js'

/** Makes a table of the pages, by the name between its marks. `page` is the page that holds it. */
type Make = (page: string) => string | Promise<string>

export const tables: Readonly<Record<string, Make>> = {
  benchmark,
  capabilities,
  conformance,
  differences,
  errors,
  flags,
  kinds,
  metrics,
  plugins,
  settings,
  speed,
}

function differences(): string {
  const rows = allowedDifferences.map(({ side, headers, what, why }) => [
    side,
    headers.map((name) => `\`${name}\``).join(', '),
    what,
    why,
  ])
  return table(['side', 'headers', 'what', 'why'], rows)
}

function metrics(): string {
  return table(
    ['metric', 'kind', 'labels', 'what it counts or measures'],
    instrumentsInSource().map(({ name, kind, labels, help }) => [
      `\`${name}\``,
      kind,
      labels.map((label) => `\`${label}\``).join(', '),
      help,
    ]),
  )
}

function capabilities(): string {
  return table(
    ['capability', 'in a list', 'what it does'],
    capabilitiesInSource().map(({ name, howMany, about }) => [`\`${name}\``, howMany, about]),
  )
}

/** One row for each suite of `sallyport/testing`, under the name that a plugin imports the capability by. */
function conformance(): string {
  const rows = conformanceSuites.map(({ capability, requirements }) => {
    const name = capability.name.replaceAll(/(?:^| )([a-z])/g, (_, letter: string) => letter.toUpperCase())
    return [`\`${name}\``, requirements.map(({ statement }) => statement).join('; ')]
  })
  return table(['capability', 'a plugin that provides it'], rows)
}

/** One table each for the codes that clients get, that stop the start, and that only the log has. */
function errors(): string {
  const headings = { response: 'In a response', start: 'At the start', log: 'In the log' } as const
  return Object.entries(headings)
    .map(([where, heading]) => {
      const codes = Object.entries(errorCodes).filter(([, code]) => code.where === where)
      return `### ${heading}\n\n${where === 'response' ? inResponses(codes) : inTheLog(codes)}`
    })
    .join('\n\n')
}

type Codes = readonly (readonly [code: string, ErrorCode])[]

const inResponses = (codes: Codes): string =>
  table(
    ['status', 'code', 'what to do'],
    codes.map(([code, { advice }]) => [statusesOf(code).join(', '), `\`${code.toLowerCase()}\``, advice]),
  )

const inTheLog = (codes: Codes): string =>
  table(
    ['code', 'what to do'],
    codes.map(([code, { advice }]) => [`\`${code}\``, advice]),
  )
