import { resolve } from 'node:path'
import type { Problem, SettingPath } from 'sallyport'
import { fileFailure, isJsonObject } from 'sallyport/toolkit'
import { nearest } from '#core/contract/problem.js'
import type { Environment } from '../line/environment.js'
import { hidden, partsOf } from './hidden.js'
import { readTextFile } from './text-file.js'

export interface ReferenceContext {
  /** The folder to which relative paths are relative. */
  readonly folder: string
  readonly environment: Environment
  readonly locate: (path: SettingPath) => string
}

export interface Interpolated {
  readonly value: unknown
  readonly secrets: ReadonlySet<string>
  readonly problems: readonly Problem[]
}

/**
 * Replaces `${env:NAME}` and `${file:PATH}` in the texts of a parsed value. Keys and replacements are never searched
 * for references, so no value can add structure or another reference.
 */
export async function interpolate(value: unknown, context: ReferenceContext): Promise<Interpolated> {
  const secrets = new Set<string>()
  const problems: Problem[] = []

  async function within(part: unknown, path: SettingPath): Promise<unknown> {
    if (typeof part === 'string') return text(part, path)
    if (Array.isArray(part)) {
      const items: unknown[] = []
      for (const [index, item] of part.entries()) items.push(await within(item, [...path, index]))
      return items
    }
    if (!isJsonObject(part)) return part
    const entries: [string, unknown][] = []
    for (const [key, item] of Object.entries(part)) entries.push([key, await within(item, [...path, key])])
    return Object.fromEntries(entries)
  }

  async function text(written: string, path: SettingPath): Promise<string> {
    const pieces: string[] = []
    let fromOutside = false
    for (const piece of piecesOf(written)) {
      const found = typeof piece === 'string' ? { text: piece } : await follow(piece.reference, context)
      if ('message' in found) {
        problems.push({ place: context.locate(path), ...found })
        continue
      }
      pieces.push(found.text)
      if (typeof piece === 'string') continue
      fromOutside = true
      learn(found.text, `\${${piece.reference}}`)
    }
    const whole = pieces.join('')
    if (fromOutside) learn(whole, written)
    return whole
  }

  function learn(secret: string, reference: string): void {
    if (secret === '') return
    for (const part of partsOf(secret)) secrets.add(part)
    hidden.add(secret, reference)
  }

  return { value: await within(value, []), secrets, problems }
}

type Piece = string | { readonly reference: string | undefined }

/** Literal text and references, in order. `$${` stands for a literal `${`. */
function piecesOf(written: string): readonly Piece[] {
  const pieces: Piece[] = []
  let at = 0
  for (const { index, 0: opening } of written.matchAll(/\$?\$\{/g)) {
    if (index < at) continue
    pieces.push(written.slice(at, index))
    at = index + opening.length
    if (opening.startsWith('$$')) {
      pieces.push('${')
      continue
    }
    const end = written.indexOf('}', at)
    if (end === -1) return [...pieces, { reference: undefined }]
    pieces.push({ reference: written.slice(at, end) })
    at = end + 1
  }
  return [...pieces, written.slice(at)]
}

type Followed = { readonly text: string } | Omit<Problem, 'place'>

const schemes = ['env', 'file']

async function follow(reference: string | undefined, context: ReferenceContext): Promise<Followed> {
  if (reference === undefined) return { message: 'a reference is not closed, "}" is expected' }
  const colon = reference.indexOf(':')
  const scheme = reference.slice(0, Math.max(colon, 0))
  const name = reference.slice(colon + 1)
  if (scheme === 'env' && name !== '') return variable(name, context.environment)
  if (scheme === 'file' && name !== '') return fileText(resolve(context.folder, name))
  const suggestion = schemes.includes(scheme) ? undefined : nearest(scheme, schemes)
  return {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the operator writes this text.
    message: '${env:NAME} or ${file:PATH} is expected; a literal ${ is written $${',
    ...(suggestion === undefined ? {} : { suggestion }),
  }
}

function variable(name: string, environment: Environment): Followed {
  const text = Object.hasOwn(environment, name) ? environment[name] : undefined
  return text === undefined ? { message: `the environment has no variable ${name}` } : { text }
}

async function fileText(path: string): Promise<Followed> {
  try {
    const text = await readTextFile(path)
    // Editors and `echo` end a file with a newline, which is not part of the secret.
    return { text: text.replace(/\r?\n$/, '') }
  } catch (error) {
    return { message: `${path}: ${fileFailure(error)}` }
  }
}
