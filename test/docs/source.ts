import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** The text of every file of the program, except those below `omitted`. */
export function sourceTexts(omitted?: string): string[] {
  return ['core', 'plugins', 'cli'].flatMap((top) =>
    readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
      .map((file) => join(top, file))
      .filter((file) => file.endsWith('.ts') && (omitted === undefined || !file.startsWith(omitted)))
      .map((file) => readFileSync(join(root, file), 'utf8')),
  )
}

const ERROR =
  /new (Refusal|UpstreamError|GatewayError)\(\s*(?:(\w+),\s*)?'([A-Z_]+)'((?:(?!\bnew |\n\n)[\s\S]){0,400})/g
const STATUS_OF: Readonly<Record<string, number>> = { UpstreamError: 502, GatewayError: 500 }

// The contract tests invent errors.
const gatewayText = (): string => sourceTexts('core/conformance').join('\n')

/** The codes of all errors that the gateway makes, each with the statuses beside it in the source. */
export function errorsInSource(): ReadonlyMap<string, ReadonlySet<number>> {
  const found = new Map<string, Set<number>>()
  for (const [, kind = '', status, code = '', rest = ''] of gatewayText().matchAll(ERROR)) {
    const written = status ?? rest.match(/statusCode: (\w+)/)?.[1] ?? STATUS_OF[kind]
    const statuses = found.get(code) ?? new Set()
    if (Number.isInteger(Number(written))) statuses.add(Number(written))
    found.set(code, statuses)
  }
  return found
}

/** Codes of errors that the source makes, and codes in its table of network failures. */
export function codesInSource(): string[] {
  const network = sourceTexts()
    .join('\n')
    .matchAll(/\['(EGRESS_[A-Z_]+)'|'(EGRESS_[A-Z_]+)',/g)
  const named = [...network].map(([, code, other]) => code ?? other ?? '')
  return [...new Set([...errorsInSource().keys(), ...named])].toSorted()
}

export interface Instrument {
  readonly name: string
  readonly kind: string
  readonly help: string
  readonly labels: readonly string[]
}

const MAKING = /meter\.(counter|gauge|histogram)\(\s*'(\w+)',\s*(?:'([^']*)'|"([^"]*)")(?:,\s*\[([^\]]*)\])?/g

/** Every instrument, from the call that makes it. */
export function instrumentsInSource(): Instrument[] {
  return sourceTexts()
    .flatMap((text) => [...text.matchAll(MAKING)])
    .map(([, kind = '', name = '', single, double, labels = '']) => ({
      name: `sallyport_${name}`,
      kind,
      help: single ?? double ?? '',
      labels: [...labels.matchAll(/'(\w+)'/g)].map(([, label = '']) => label),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** How many calls make an instrument, in any style. */
export const makings = (): number =>
  sourceTexts().flatMap((text) => [...text.matchAll(/meter\s*\.(?:counter|gauge|histogram)\(/g)]).length

interface CapabilityFact {
  readonly name: string
  readonly howMany: string
  readonly about: string
}

const CAPABILITY = /^export const (\w+) = (one|many)<[^>]*>\('/gm

/** Every capability of the contract, with the first sentence of its type's comment. */
export function capabilitiesInSource(): CapabilityFact[] {
  return sourceTexts()
    .flatMap((text) =>
      [...text.matchAll(CAPABILITY)].map(([, name = '', howMany = '']) => ({ text, name, howMany })),
    )
    .map(({ text, name, howMany }) => ({
      name,
      howMany: howMany === 'one' ? 'one' : 'any number',
      about: sentenceOf(text, name),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function sentenceOf(text: string, name: string): string {
  const declared = text.search(new RegExp(`^export (?:interface|type) ${name}\\b`, 'm'))
  const comment = text.slice(0, declared).match(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/)?.[1] ?? ''
  const plain = comment.replaceAll(/\s*\n\s*\*?\s*/g, ' ').trim()
  return plain.match(/^.*?\.(?= |$)/)?.[0] ?? plain
}
