import type { Paint } from '../colour.js'
import { environmentNames } from './environment.js'
import type { Command, Option, OptionGroup, Positional } from './option.js'
import { accumulates, placeholderOf } from './option.js'

export interface Page {
  readonly width: number
  readonly paint: Paint
  /** The words that call a command: `sallyport proxy`, or `sallyport-proxy`. */
  readonly called: (command: Command) => string
}

/** The help of the whole program. */
export function programHelp(commands: readonly Command[], shared: readonly Option[], page: Page): string {
  const { paint, width } = page
  return [
    `${paint('bold', 'Usage:')} sallyport COMMAND [FLAGS] [ARGUMENTS]`,
    wrap('A gateway for MCP servers: a registry and a proxy that authenticate callers.', width).join('\n'),
    section(
      'Commands',
      columns(
        commands.map(({ name, summary }) => [name, summary]),
        page,
      ),
      page,
    ),
    section(
      'Flags',
      columns(
        shared.map((option) => row(option)),
        page,
      ),
      page,
    ),
    'Run "sallyport COMMAND --help" for the flags of a command.',
  ].join('\n\n')
}

export function commandHelp(command: Command, page: Page): string {
  const { paint, width, called } = page
  const { description, positionals, groups, examples } = command
  const parts = [
    `${paint('bold', 'Usage:')} ${[called(command), '[FLAGS]', ...positionals.map(positionalText)].join(' ')}`,
    wrap(description, width).join('\n'),
  ]
  if (positionals.length > 0) {
    const rows = positionals.map(({ name, help, choices }): Row => [name, `${help}${choicesText(choices)}`])
    parts.push(section('Arguments', columns(rows, page), page))
  }
  const column = columnFor(groups.flatMap(({ options }) => options.map(row)))
  for (const { title, options } of groups) {
    parts.push(section(title, columns(options.map(row), page, column), page))
  }
  parts.push(section('Examples', indented(examples.flatMap((example) => example.split('\n'))), page))
  const note = environmentNote(groups)
  if (note !== undefined) parts.push(section('Environment', indented(wrap(note, width - 2)), page))
  return parts.join('\n\n')
}

type Row = readonly [left: string, right: string]

function row(option: Option): Row {
  const { name, short, type, help } = option
  const flag = short === undefined ? `    --${name}` : `-${short}, --${name}`
  return [type === 'boolean' ? flag : `${flag} ${placeholderOf(option)}`, `${help}${remarksOf(option)}`]
}

function remarksOf(option: Option): string {
  const remarks = [
    option.required === true ? 'required' : undefined,
    option.choices === undefined ? undefined : `one of ${option.choices.join(', ')}`,
    option.type === 'list' ? 'commas between items, may be repeated' : undefined,
    option.type !== 'list' && accumulates(option) ? 'may be repeated' : undefined,
    option.default === undefined ? undefined : `default ${option.default}`,
    option.env === undefined ? undefined : `also ${option.env.join(', ')}`,
  ].filter((remark) => remark !== undefined)
  return remarks.length === 0 ? '' : ` (${remarks.join('; ')})`
}

function choicesText(choices: readonly string[] | undefined): string {
  return choices === undefined ? '' : ` (one of ${choices.join(', ')})`
}

function positionalText({ name, required, repeats }: Positional): string {
  const text = `${name}${repeats === true ? '...' : ''}`
  return required === true ? text : `[${text}]`
}

function environmentNote(groups: readonly OptionGroup[]): string | undefined {
  const options = groups.flatMap((group) => group.options)
  const [example] = options.flatMap((option) => environmentNames(option))
  if (example === undefined || options.length < 5) return undefined
  const lists = options.some(accumulates)
    ? ' Lists have commas between their items; other flags that may be repeated have one value on each line.'
    : ''
  return `Every flag has a variable, such as ${example} for the first one; a flag wins over it.${lists}`
}

function section(title: string, body: string, { paint }: Page): string {
  return `${paint('bold', `${title}:`)}\n${body}`
}

// A wider left column would leave too little of 80 characters for the text.
const WIDEST_LEFT = 30

function columns(rows: readonly Row[], { width, paint }: Page, column = columnFor(rows)): string {
  const indent = ' '.repeat(column)
  const lines = rows.flatMap(([left, right]) => {
    const [first = '', ...rest] = wrap(right, width - column)
    const flag = `  ${paint('cyan', left)}`
    const wrapped = rest.map((line) => `${indent}${line}`)
    const gap = column - left.length - 2
    return gap >= 2
      ? [`${flag}${' '.repeat(gap)}${first}`, ...wrapped]
      : [flag, `${indent}${first}`, ...wrapped]
  })
  return lines.join('\n')
}

function columnFor(rows: readonly Row[]): number {
  return Math.max(0, ...rows.map(([left]) => left.length).filter((length) => length <= WIDEST_LEFT)) + 4
}

function indented(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`).join('\n')
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}
