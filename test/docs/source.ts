import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** The text of every file of the program. */
export function sourceTexts(): string[] {
  return ['core', 'plugins', 'cli'].flatMap((top) =>
    readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(join(root, top, file), 'utf8')),
  )
}

/** Codes that stand where an error is made, and those of the table that failures of the network are read from. */
export function codesInSource(): string[] {
  const text = sourceTexts().join('\n')
  const made = text.matchAll(/new (?:Refusal|UpstreamError|GatewayError)\(\s*(?:\d{3},\s*)?'([A-Z_]+)'/g)
  const network = text.matchAll(/\['(EGRESS_[A-Z_]+)'|'(EGRESS_[A-Z_]+)',/g)
  return [...new Set([...made, ...network].map(([, code, other]) => code ?? other ?? ''))].toSorted()
}

export interface Instrument {
  readonly name: string
  readonly kind: string
  readonly help: string
  readonly labels: readonly string[]
}

const MAKING = /meter\.(counter|gauge|histogram)\(\s*'(\w+)',\s*(?:'([^']*)'|"([^"]*)")(?:,\s*\[([^\]]*)\])?/g

/** Every instrument, read off the place where it is made. */
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

/** How often an instrument is made, however it is written. */
export const makings = (): number =>
  sourceTexts().flatMap((text) => [...text.matchAll(/meter\s*\.(?:counter|gauge|histogram)\(/g)]).length

interface CapabilityFact {
  readonly name: string
  readonly howMany: string
  readonly about: string
}

const CAPABILITY = /^export const (\w+) = (one|many)<[^>]*>\('/gm

/** Every capability of the contract, with the first sentence of what its type says. */
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
