import { isJsonObject, type JsonObject, PUBLISHER } from 'sallyport/toolkit'
import { JsonScan } from '../../json-scan.js'
import { serverDocument } from '../../server-document.js'
import { extensionFindings, semanticFindings } from './document-rules.js'
import {
  type Errors,
  type Finding,
  finding,
  type Issue,
  MOST_ISSUES,
  pathText,
  type Validation,
} from './issue.js'
import { jsonForm } from './json-form.js'
import { schemaErrors } from './schema-findings.js'

export type { Issue, Validation } from './issue.js'

/** Validates the bytes of a server document, and reports all issues at once. The caller bounds the size. */
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

/** The result of reading the bytes of a document. */
interface Judgement extends Errors {
  readonly isJson: boolean
  readonly text?: string
  readonly name?: string | undefined
  readonly version?: string | undefined
}

/** Validates a document by its bytes, its form, the schema in force, and the rules beyond the schema. */
export function judge(bytes: Uint8Array): Judgement {
  const text = textOf(bytes)
  if (typeof text !== 'string') return { isJson: false, findings: [text], more: 0 }

  const document = parsed(text)
  const form = jsonForm(text)
  if (document === undefined) return { isJson: false, text, findings: [broken(text, form.brokenAt)], more: 0 }

  const { value } = document
  const { name, version } = isJsonObject(value) ? value : {}
  const repeated = new Set(form.findings.map(({ at }) => at[0]))
  const read = (member: string, found: unknown): string | undefined =>
    typeof found === 'string' && form.more === 0 && !repeated.has(member) ? found : undefined
  const known = { isJson: true, text, name: read('name', name), version: read('version', version) }
  if (form.tooMuch) return { ...known, findings: form.findings, more: form.more }
  const { findings, more } = documentErrors(value, bytes)
  return { ...known, findings: [...form.findings, ...findings], more: form.more + more }
}

function broken(text: string, offset = 0): Finding {
  const lines = text.slice(0, offset).split('\n')
  const place = `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`
  return { ...finding('json', [], 'json-syntax', `not valid JSON from ${place} on`), offset }
}

function textOf(bytes: Uint8Array): string | Finding {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    if (!text.startsWith('\ufeff')) return text
    const message = 'a text without a byte order mark is expected'
    return { ...finding('json', [], 'byte-order-mark', message), offset: 0 }
  } catch {
    return { ...finding('json', [], 'not-utf-8', 'UTF-8 is expected, and this is not'), offset: 0 }
  }
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

function documentErrors(value: unknown, bytes: Uint8Array): Errors {
  if (!isJsonObject(value)) return schemaErrors(value, new Set())
  const byRules = [...semanticFindings(value), ...extensionFindings(extensionBytes(value, bytes))]
  // A rule explains more about a value than a pattern of the schema does.
  const ruled = new Set(byRules.filter(isError).map(({ at }) => pathText(at)))
  const { findings, more } = schemaErrors(value, ruled)
  const isRefused = more > 0 || findings.length > 0 || ruled.size > 0
  return { findings: [...findings, ...byRules, ...(isRefused ? [] : catalogueErrors(value))], more }
}

/**
 * The issues for which the catalogue would refuse the document: the store must hold no document that is never served.
 */
function catalogueErrors(value: JsonObject): readonly Finding[] {
  const issues = serverDocument.safeParse(value).error?.issues ?? []
  return issues.slice(0, MOST_ISSUES).map(({ path, message }) => {
    const at = path.map((step) => (typeof step === 'symbol' ? '' : step))
    return finding('schema', at, 'catalogue', `${message}: the registry could not serve it`)
  })
}

const isError = ({ severity }: Pick<Finding, 'severity'>): boolean => severity === 'error'

/** The size of the publisher's extension as the registry will serve it. */
function extensionBytes({ _meta }: JsonObject, bytes: Uint8Array): number {
  if (!isJsonObject(_meta) || _meta[PUBLISHER] === undefined) return 0
  const scan = new JsonScan(bytes)
  const meta = scan.member(scan.begin(), '_meta')
  const own = meta === undefined ? undefined : scan.member(meta.start, PUBLISHER)
  return own === undefined ? 0 : scan.compact(own).length
}
