/** What a person would look at to correct a syntax error. */
export interface Slip {
  readonly line: number
  readonly column: number
  readonly message: string
}

const KEY = /^(?:[\w.~/-]+|"[^"]*"|'[^']*'):(?=\s|$)/

interface Line {
  readonly number: number
  readonly text: string
  /** The column of the first dash, or of the key. */
  readonly indent: number
  /** The column of what follows the dashes. */
  readonly content: number
  readonly rest: string
  readonly isItem: boolean
}

/**
 * Finds the usual slips of a hand near a syntax error: the parser reports where it could not go on, and that is often not
 * where the mistake is. Nothing of the file is quoted: it may hold secrets.
 */
export function slipNear(source: string, errorLine: number): Slip | undefined {
  const lines = linesOf(source)
  const open = openBracket(lines.filter(({ number }) => number < errorLine))
  if (open !== undefined) return open
  const near = lines.filter(({ number }) => number === errorLine || number === errorLine + 1)
  for (const line of near) {
    const before = lines.filter(({ number }) => number < line.number)
    const slip = inLine(line, lines) ?? betweenLines(line, before)
    if (slip !== undefined) return slip
  }
  return unclosedQuote(lines)
}

function linesOf(source: string): readonly Line[] {
  return source
    .split(/\r?\n/)
    .map((text, index) => {
      const [spaces = ''] = /^ */.exec(text) ?? []
      const [dashes = ''] = /^(?:- +)*(?:-$)?/.exec(text.slice(spaces.length)) ?? []
      const content = spaces.length + dashes.length
      return {
        number: index + 1,
        text,
        indent: spaces.length,
        content,
        rest: text.slice(content),
        isItem: dashes !== '',
      }
    })
    .filter(({ text }) => !/^\s*(?:#|$)/.test(text))
}

const at = ({ number }: Line, column: number, message: string): Slip => ({
  line: number,
  column: column + 1,
  message,
})

/** What a line shows by itself. */
function inLine(line: Line, lines: readonly Line[]): Slip | undefined {
  const { indent, content, rest } = line
  if (rest.startsWith('\t')) return at(line, content, 'a tab in the indentation: expected spaces')
  if (/^-["'\w]/.test(rest) && rest.includes(':'))
    return at(line, indent + 1, 'expected a space after the dash')
  const key = /^[\w.-]+/.exec(rest)?.[0] ?? ''
  const column = content + key.length
  if (key !== '' && /^:[^\s:/]/.test(rest.slice(key.length)))
    return at(line, column + 1, 'expected a space after the colon')
  const below = lines.find(({ number }) => number > line.number)
  if (key !== '' && rest.trimEnd() === key && below !== undefined && below.indent > indent)
    return at(line, column, 'expected a colon after this key')
  const [beside] = /^\S+: *(?:\[[^[\]{}]*\]|\{[^[\]{}]*\})(?= *[^\s,#])/.exec(rest) ?? []
  if (beside !== undefined)
    return at(
      line,
      content + beside.length,
      'after a closing bracket: expected a line of its own for what follows',
    )
  const [twice] = /^\S+: +[^\s"'[{|>&*!#][^"'#]*?:(?= )/.exec(rest) ?? []
  if (twice !== undefined)
    return at(line, content + twice.length - 1, 'a colon inside a value: expected quotes around the value')
  const [joined] = /\{(?:[^{}:,]*: *[^\s{}[\],:]+,)*[^{}:,]*: *[^\s{}[\],:"']+(?= +[\w-]+:)/.exec(rest) ?? []
  if (joined !== undefined)
    return at(
      line,
      rest.indexOf(joined) + content + joined.length,
      'expected a comma between two keys in braces',
    )
  const reserved = /(?:^|[:,[] *|- +)(?<start>[*@`%])/d.exec(rest)?.indices?.groups?.['start']
  if (reserved !== undefined)
    return at(
      line,
      content + reserved[0],
      'no value begins with this character: expected quotes around the value',
    )
  return undefined
}

/** What a line shows beside the one before it. */
function betweenLines(line: Line, before: readonly Line[]): Slip | undefined {
  const above = before.at(-1)
  const first = before[0]
  if (above === undefined || first === undefined) return undefined
  const { indent, isItem } = line
  const isKey = KEY.test(line.rest)
  if (!isItem && !isKey) return undefined
  if (first.indent > indent) return at(first, 0, 'expected no spaces before the first key')
  const levels = openLevels(before)
  const expected = (columns: readonly number[], who: string): Slip =>
    at(line, indent, `${spaces(indent)} before this line: expected ${columns.join(' or ')}, ${who}`)

  const isDeeper = indent > (isItem ? above.indent : above.content)
  if (isDeeper && !hasValue(above)) return undefined
  if (isDeeper && (indent > above.content || above.isItem))
    return expected([isItem ? above.indent : above.content], 'as the line above has its value already')
  if (above.isItem && !isItem && indent > above.indent && indent < above.content)
    return expected([above.content], 'beside the key after the dash')
  const level = levels.find(({ column }) => column === indent)
  if (level === undefined) {
    const similar = levels.filter(({ isItem: item }) => item === isItem).map(({ column }) => column)
    return expected(similar.length > 0 ? similar : levels.map(({ column }) => column), 'as a line above has')
  }
  if (isItem === level.isItem) return undefined
  return isItem
    ? at(line, indent, 'a list item beside keys: expected another key, or a dash before the first of them')
    : at(line, indent, 'a key beside list items: expected it further in, with the keys of an item')
}

/** The columns at which a next line may begin, the innermost first. */
function openLevels(
  before: readonly Line[],
): readonly { readonly column: number; readonly isItem: boolean }[] {
  const levels: { column: number; isItem: boolean }[] = []
  const add = (column: number, isItem: boolean): void => {
    const inner = levels.at(-1)
    if (inner === undefined || column < inner.column) levels.push({ column, isItem })
  }
  for (const { indent, content, isItem } of before.toReversed()) {
    add(content, false)
    if (isItem) add(indent, true)
  }
  return levels
}

const hasValue = ({ rest }: Line): boolean => /^(?:[^\s"']+|"[^"]*"|'[^']*'): +[^\s#|>&!]/.test(rest)

const spaces = (count: number): string => (count === 1 ? '1 space' : `${count} spaces`)

/** The innermost bracket that the lines leave open. */
function openBracket(lines: readonly Line[]): Slip | undefined {
  const open: Slip[] = []
  for (const line of lines) {
    const plain = line.text.replace(/"(?:[^"\\]|\\.)*"|'[^']*'|(?:^| )#.*$/g, (part) =>
      ' '.repeat(part.length),
    )
    for (const { 0: bracket, index } of plain.matchAll(/(?<=[\s[{,:(-])[[{]|[\]}]/g)) {
      if (bracket === '[' || bracket === '{') open.push(at(line, index, 'this bracket is not closed'))
      else open.pop()
    }
  }
  return open.at(-1)
}

function unclosedQuote(lines: readonly Line[]): Slip | undefined {
  for (const line of lines) {
    const quote = /(?<=[:,[{-] *)(?:"(?:[^"\\]|\\.)*$|'[^']*$)/.exec(line.text)
    if (quote !== null) return at(line, quote.index, 'this quote is not closed')
  }
  return undefined
}
