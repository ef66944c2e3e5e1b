import { type JsonSchema, jsonSchemaOf } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { RegistrySettings } from 'sallyport/presets/registry'
import { commands } from '#cli/options/commands.js'
import { accumulates, type Command, type Option, type Positional } from '#cli/options/option.js'
import { sharedGroup } from '#cli/options/shared.js'
import { benchmark } from '../bench/readme.js'
import { allowedDifferences } from '../plugins/forward/allowed-differences.js'
import { errorCodes } from './error-codes.js'
import { instrumentsInSource } from './source.js'

/** The parts of the README that are made from the code, by the name between their marks. */
export const tables: Readonly<Record<string, () => string | Promise<string>>> = {
  plugins,
  options,
  settings,
  flags,
  differences,
  metrics,
  errors,
  benchmark,
}

const cell = (text: string): string => plain(text).replaceAll('|', '\\|').replaceAll('\n', ' ')
/** Between backticks a `<` is one; elsewhere it would open an element. */
const plain = (text: string): string =>
  text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? part.replaceAll('<', '&lt;') : part))
    .join('`')
const row = (...cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n')

async function loaded() {
  return Promise.all(Object.values(catalogue).map(async (load) => (await load()).default))
}

async function plugins(): Promise<string> {
  const rows = (await loaded()).map(({ name, summary = '' }) => [`\`${name}\``, summary])
  return table(['plugin', 'what it does'], rows)
}

/** One foldable table for each plugin that takes options. */
async function options(): Promise<string> {
  const parts = (await loaded()).flatMap(({ name, options: schema }) => {
    const { properties = {}, required = [] } = (jsonSchemaOf(schema) ?? {}) as {
      properties?: Readonly<Record<string, JsonSchema>>
      required?: readonly string[]
    }
    const rows = Object.entries(properties).map(([option, about]) => [
      `\`${option}\`${required.includes(option) ? ' (required)' : ''}`,
      'default' in about ? `\`${JSON.stringify(about['default'])}\`` : '',
      typeof about['description'] === 'string' ? about['description'] : '',
    ])
    if (rows.length === 0) return []
    return [
      `<details><summary><code>${name}</code></summary>\n\n${table(['option', 'default', 'meaning'], rows)}\n\n</details>`,
    ]
  })
  return parts.join('\n\n')
}

/** Every key of the registry's file, with those below it. */
function settings(): string {
  const rows = keysOf(jsonSchemaOf(RegistrySettings) ?? {}, '')
  const text = table(['key', 'default', 'meaning'], rows)
  return `<details><summary>Every key of the file</summary>\n\nWhat else stands in a provider, or in a source, are the [options](#a-list-of-your-own) of its plugin.\n\n${text}\n\n</details>`
}

function keysOf(schema: JsonSchema, above: string): string[][] {
  const { properties = {}, required = [] } = schema as {
    properties?: Readonly<Record<string, JsonSchema>>
    required?: readonly string[]
  }
  return Object.entries(properties).flatMap(([key, about]) => {
    const path = `${above}${key}`
    const {
      items,
      description = '',
      default: usual,
    } = about as Record<string, unknown> & { items?: JsonSchema }
    const hasMore = 'properties' in about || (items !== undefined && 'properties' in items)
    const own = [
      `\`${path}\`${required.includes(key) ? ' (required)' : ''}`,
      usual === undefined || hasMore ? '' : `\`${JSON.stringify(usual)}\``,
      String(description),
    ]
    const below = items === undefined ? keysOf(about, `${path}.`) : keysOf(items, `${path}[].`)
    return [own, ...below]
  })
}

/** The flags of every command, then a foldable part for each; one that takes what the proxy takes names that and what it adds. */
function flags(): string {
  const ofProxy = commands.filter(({ name }) => name === 'proxy').flatMap(optionsOf)
  const everywhere = sharedGroup.options.map((option) => `\`--${option.name}\``).join(', ')
  const parts = commands.map((command) => {
    const all = optionsOf(command)
    const added = all.filter(
      ({ name, help }) => !ofProxy.some((option) => option.name === name && option.help === help),
    )
    const missing = ofProxy.filter(({ name }) => !all.some((option) => option.name === name))
    const extendsProxy = command.name !== 'proxy' && all.length - added.length > 5 && missing.length < 5
    const but = missing.map(({ name }) => `\`--${name}\``).join(', ')
    const rows = [
      ...command.positionals.map(argumentRow),
      ...(extendsProxy ? added : all).map((option) => flagRow(option)),
    ]
    const text = [
      `${command.summary}.${extendsProxy ? ` The flags of \`sallyport proxy\`${but === '' ? '' : ` but ${but}`}, and:` : ''}`,
      ...(rows.length === 0 ? [] : [table(['flag or argument', 'default', 'meaning'], rows)]),
    ].join('\n\n')
    return `<details><summary><code>sallyport ${command.name}</code></summary>\n\n${text}\n\n</details>`
  })
  return [`Everywhere: ${everywhere}.`, ...parts].join('\n\n')
}

const argumentRow = ({ name, help, required, choices }: Positional): string[] => [
  `\`${name}\`${required === true ? ' (required)' : ''}`,
  '',
  help + oneOf(choices),
]

const flagRow = (option: Option): string[] => [
  `\`--${option.name}\`${option.required === true ? ' (required)' : ''}`,
  option.default === undefined ? '' : `\`${option.default}\``,
  `${option.help}${oneOf(option.choices)}${accumulates(option) ? '; may be repeated' : ''}`,
]

const oneOf = (choices: readonly string[] | undefined): string =>
  choices === undefined ? '' : ` (one of ${choices.map((choice) => `\`${choice}\``).join(', ')})`

const optionsOf = ({ groups }: Command): readonly Option[] =>
  groups.filter(({ title }) => title !== sharedGroup.title).flatMap(({ options: own }) => own)

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

/** One foldable table for each place where codes are met. */
function errors(): string {
  const places = { answer: 'in an answer', start: 'when it starts', log: 'in the log' } as const
  return Object.entries(places)
    .map(([met, words]) => {
      const rows = Object.entries(errorCodes)
        .filter(([, code]) => code.met === met)
        .map(([code, { advice }]) => [`\`${met === 'answer' ? code.toLowerCase() : code}\``, advice])
      return `<details><summary>Codes ${words}</summary>\n\n${table(['code', 'what to do'], rows)}\n\n</details>`
    })
    .join('\n\n')
}
