import { dirname, resolve } from 'node:path'
import type { Problem, SettingPath } from 'sallyport'
import { fileFailure, isJsonObject, tokensAreTooDeep, valueIsTooDeep } from 'sallyport/toolkit'
import type { YAMLError, Document as YamlDocument } from 'yaml'
import { isScalar, LineCounter, Parser, parseDocument, visit } from 'yaml'
import type { Environment } from '../line/environment.js'
import { interpolate } from './interpolate.js'
import { Locator } from './locator.js'
import { readTextFile } from './text-file.js'

/** A configuration file, read and with its references replaced. */
export interface Document {
  /** The path as the operator wrote it. */
  readonly file: string
  /** The folder to which relative paths in the file are relative. */
  readonly folder: string
  readonly value: unknown
  /** Texts that came from `${env:...}` or `${file:...}`; they are never printed. */
  readonly secrets: ReadonlySet<string>
  /** `sallyport.yaml:12:5 auth.oauth.realm`; for a path that the file lacks, the line of its nearest parent. */
  readonly locate: (path: SettingPath, part?: 'key' | 'value') => string
}

export interface Read {
  /** Missing when the file could not be read. With problems it only serves to find more of them, not to boot. */
  readonly document?: Document
  readonly problems: readonly Problem[]
}

const tooDeep = 'is nested too deeply'

/** The allowed kinds of a file's root. */
export type Root = 'mapping' | 'mapping or list'

/** Reads a YAML or JSON file, and finds all problems of its form. */
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
  const broken = formProblems(parsed, locator)
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
    // Pretty errors quote pieces of the file.
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: true,
    // `silent` would also silence the error about a second document.
    logLevel: 'error',
  })
}

function formProblems(parsed: YamlDocument, locator: Locator): readonly Problem[] {
  // After UNEXPECTED_TOKEN the parser complains about every line that follows.
  const lost = parsed.errors.findIndex(({ code }) => code === 'UNEXPECTED_TOKEN')
  const errors = lost === -1 ? parsed.errors : parsed.errors.slice(0, lost + 1)
  const found = [...errors, ...parsed.warnings].map(({ code, pos }) => ({
    offset: pos[0],
    message: syntaxMessage(code),
  }))
  visit(parsed, {
    Pair(_key, { key }) {
      // This key could change the prototype of an object.
      if (isScalar(key) && key.value === '__proto__')
        found.push({ offset: key.range?.[0] ?? 0, message: 'this key is not allowed' })
    },
    Alias(_key, alias, around) {
      const target = alias.resolve(parsed)
      const offset = alias.range?.[0] ?? 0
      if (target === undefined) found.push({ offset, message: syntaxMessage('BAD_ALIAS') })
      else if (around.includes(target))
        found.push({ offset, message: 'an alias to a value that contains it' })
    },
  })
  // One mistake may cause several complaints in its line.
  const lines = new Set<number>()
  return found
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ offset, message }) => ({ ...locator.positionOf(offset), message }))
    .filter(({ line }) => !lines.has(line) && lines.add(line))
    .map(({ line, column, message }) => ({ place: locator.placeOf(line, column), message }))
}

const messages: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  BAD_ALIAS: 'an alias without an anchor before it; a value that begins with * needs quotes',
  BAD_SCALAR_START: 'no value begins with this character, quotes around it are expected',
  BAD_DQ_ESCAPE: 'an unknown escape in a double-quoted text',
  BAD_INDENT: 'wrong indentation, or brackets that are not closed',
  BLOCK_AS_IMPLICIT_KEY:
    'a key or an item where a value has begun: wrong indentation here or in the next line, or a value with a colon that needs quotes',
  BLOCK_IN_FLOW: 'indented lines inside brackets',
  DUPLICATE_KEY: 'this key is repeated',
  MISSING_CHAR: 'a closing quote, bracket, comma or colon is missing',
  MULTILINE_IMPLICIT_KEY: 'a key goes over several lines, perhaps a colon or a quote is missing',
  MULTIPLE_DOCS: 'a second document begins, a file holds one',
  NON_STRING_KEY: 'a key that is not a text',
  TAB_AS_INDENT: 'a tab in the indentation, spaces are expected',
  UNEXPECTED_TOKEN: 'not valid YAML from here on; a value that holds { } [ ] # or a colon needs quotes',
  TAG_RESOLVE_FAILED: 'an unknown tag, or a value that does not fit its tag',
}

/** A message for a syntax error. The library's own message quotes the file, secrets too. */
function syntaxMessage(code: YAMLError['code']): string {
  return messages[code] ?? 'not valid YAML: look at the indentation of this line and of the one before'
}

function plainValue(parsed: YamlDocument): { readonly value: unknown } | { readonly message: string } {
  try {
    const value: unknown = parsed.toJS({ maxAliasCount: 100 })
    return valueIsTooDeep(value) ? { message: tooDeep } : { value }
  } catch (error) {
    if (error instanceof ReferenceError) return { message: 'its aliases expand to more than 100 values' }
    if (error instanceof RangeError) return { message: tooDeep }
    throw error
  }
}

function rootProblem(value: unknown, root: Root): string | undefined {
  if (isJsonObject(value) || (root === 'mapping or list' && Array.isArray(value))) return undefined
  return value === null ? `is empty, a ${root} is expected` : `a ${root} is expected at the root`
}
