import type { McpSubject } from 'sallyport'
import { type Glob, globOf } from 'sallyport/toolkit'
import { hasControlCharacter } from '../spellings.js'
import { UriPattern } from './uri.js'

export type ParsedPattern =
  | { readonly kind: 'tool' | 'prompt'; readonly glob: Glob }
  | { readonly kind: 'resource'; readonly glob: Glob; readonly uri: UriPattern }

/** The parsed pattern, or a message about its fault. */
export function parsePattern(text: string): ParsedPattern | string {
  const [, prefix] = /^(tool|prompt|resource):/.exec(text) ?? []
  const kind = (prefix ?? 'tool') as McpSubject['kind']
  const name = prefix === undefined ? text : text.slice(prefix.length + 1)
  if (name === '') return `names nothing: expected a name after "${text}", or * for all`
  if (hasControlCharacter(name)) return 'expected no control characters'
  const glob = globOf(name)
  if (kind !== 'resource') return { kind, glob }
  const uri = UriPattern.of(name)
  return uri === undefined ? 'matches no URI: it is too long, or encoded too often' : { kind, glob, uri }
}
