import { dirname, resolve } from 'node:path'
import type { Problem, SettingPath } from 'sallyport'
import { fileFailure, isJsonObject, tokensAreTooDeep, valueIsTooDeep } from 'sallyport/toolkit'
import type { Document as YamlDocument } from 'yaml'
import { LineCounter, Parser, parseDocument, visit } from 'yaml'
import type { Environment } from '../line/environment.js'
import { interpolate } from './interpolate.js'
import { Locator } from './locator.js'
import { type Slip, slipNear } from './slips.js'
import { forbiddenKey, keyAfterWideSpace, mayBeSlip, syntaxMessage } from './syntax.js'
import { readTextFile } from './text-file.js'

/** A configuration file, read and with its references replaced. */
export interface Document {
  /** As it was named by the operator. */
  readonly file: string
  /** Where relative paths in the file start. */
  readonly folder: string
  readonly value: unknown
  /** Texts that came from `${env:...}` or `${file:...}`; they are never printed. */
  readonly secrets: ReadonlySet<string>
  /** `sallyport.yaml:12:5 auth.oauth.realm`; the place of the nearest thing around it for a path that is not there. */
  readonly locate: (path: SettingPath, part?: 'key' | 'value') => string
}

export interface Read {
  /** Missing when the file could not be read at all. With problems it serves to find more of them, not to boot. */
  readonly document?: Document
  readonly problems: readonly Problem[]
}

const tooDeep = 'is nested too deeply'

/** What the root of a file may be. */
export type Root = 'mapping' | 'mapping or list'

/** Reads a YAML or JSON file, and finds all that is wrong with its form. */
export async function readDocument(
  file: string,
  environment: Environment,
  root: Root = 'mapping',
): Promise<Read> {
  const source = await readText(file)
  if (typeof source !== 'string') return { problems: [source] }

  if (tokensAreTooDeep(new Parser().parse(source))) return { problems: [{ place: file, message: tooDeep }] }
  const lines = new LineCounter()
  const parsed = parsedFrom(source, lines)
  const locator = new Locator(file, parsed, lines)
  const broken = formProblems(source, parsed, locator)
  if (broken.length > 0) return { problems: broken }

  const plain = plainValue(parsed)
  if ('message' in plain) return { problems: [{ place: locator.locate([]), message: plain.message }] }
  const wrongRoot = rootProblem(plain.value, root)
  if (wrongRoot !== undefined) return { problems: [{ place: locator.locate([]), message: wrongRoot }] }

  const folder = dirname(resolve(file))
  const locate = (path: SettingPath, part?: 'key' | 'value') => locator.locate(path, part)
  const { value, secrets, problems } = await interpolate(plain.value, {
    folder,
    environment,
    locate,
  })
  return { document: { file, folder, value, secrets, locate }, problems }
}

async function readText(file: string): Promise<string | Problem> {
  try {
    return await readTextFile(file)
  } catch (error) {
    return { place: file, message: fileFailure(error) }
  }
}

function parsedFrom(source: string, lineCounter: LineCounter): YamlDocument {
  return parseDocument(source, {
    lineCounter,
    // Pretty errors repeat pieces of the file.
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: true,
    // `silent` would also silence the error about a second document.
    logLevel: 'error',
  })
}

function formProblems(source: string, parsed: YamlDocument, locator: Locator): readonly Problem[] {
  const problems = syntaxProblems(source, parsed, locator)
  const add = (offset: number, message: string): void =>
    void problems.push({ ...locator.positionOf(offset), message })
  visit(parsed, {
    Pair(_key, { key }) {
      const offset = forbiddenKey(key)
      if (offset !== undefined) add(offset, 'this key is not allowed')
      const wide = keyAfterWideSpace(key)
      if (wide !== undefined) add(wide, 'a space of another kind in the indentation: expected plain spaces')
    },
    Alias(_key, alias, around) {
      const target = alias.resolve(parsed)
      const offset = alias.range?.[0] ?? 0
      if (target === undefined) add(offset, syntaxMessage('BAD_ALIAS'))
      else if (around.includes(target)) add(offset, 'an alias to something around it')
    },
  })
  const places = new Set<string>()
  return problems
    .sort((a, b) => a.line - b.line || a.column - b.column)
    .map(({ line, column, message }) => ({ place: locator.placeOf(line, column), message }))
    .filter(({ place }) => !places.has(place) && places.add(place))
}

/** What the parser complains about; once more for each slip that it comes from, however many complaints that causes. */
function syntaxProblems(source: string, parsed: YamlDocument, locator: Locator): Slip[] {
  // Once the form is lost the parser complains about every line that follows.
  const lost = parsed.errors.findIndex(({ code }) => code === 'UNEXPECTED_TOKEN')
  const errors = lost === -1 ? parsed.errors : parsed.errors.slice(0, lost + 1)
  const problems: Slip[] = []
  let explained = 0
  for (const { code, pos } of [...errors, ...parsed.warnings]) {
    const position = locator.positionOf(pos[0])
    if (position.line <= explained) continue
    const slip = mayBeSlip(code) ? slipNear(source, position.line) : undefined
    if (slip !== undefined) explained = Math.max(position.line, slip.line) + 1
    problems.push(slip ?? { ...position, message: syntaxMessage(code) })
  }
  return problems
}

function plainValue(parsed: YamlDocument): { readonly value: unknown } | { readonly message: string } {
  try {
    const value: unknown = parsed.toJS({ maxAliasCount: 100 })
    return valueIsTooDeep(value) ? { message: tooDeep } : { value }
  } catch (error) {
    if (error instanceof ReferenceError) return { message: 'its aliases multiply beyond 100' }
    if (error instanceof RangeError) return { message: tooDeep }
    throw error
  }
}

function rootProblem(value: unknown, root: Root): string | undefined {
  if (isJsonObject(value) || (root === 'mapping or list' && Array.isArray(value))) return undefined
  return value === null ? `is empty, a ${root} is expected` : `a ${root} is expected at the root`
}
