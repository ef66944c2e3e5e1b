import type { Input, ServerPackage, Transport } from './server-details.js'

/** How a client starts or reaches a server, independent of the client. */
export interface Invocation {
  readonly title: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly url?: string
  readonly type: string
  /** Headers of a remote server, or the environment of a local one. */
  readonly values: readonly Input[]
  /** Variables in the URL and headers. */
  readonly variables: Fields
}

/** All texts of an invocation, for searching and measuring. */
export const textOf = ({ variables, ...rest }: Invocation): string =>
  JSON.stringify([rest, ...variables.values()])

/** Undefined where the page cannot show it. */
export function remoteInvocation(transport: Transport): Invocation | undefined {
  const { type, url, headers = [] } = transport
  const variables = fieldsOf(transport)
  if (url === undefined || variables === undefined) return undefined
  return { title: `Remote: ${url}`, url, type: type === 'sse' ? 'sse' : 'http', values: headers, variables }
}

interface Runner {
  readonly command: string
  readonly args: (given: ServerPackage) => string[]
}

const target = ({ identifier, version }: ServerPackage, separator = '@'): string =>
  version === undefined ? identifier : `${identifier}${separator}${version}`

// A document must not choose the program: it could name a shell.
const RUNNERS = new Map<string, Runner>(
  Object.entries({
    npm: { command: 'npx', args: (given) => ['-y', target(given)] },
    pypi: { command: 'uvx', args: (given) => [target(given)] },
    nuget: { command: 'dnx', args: (given) => [target(given), '--yes'] },
    oci: {
      command: 'docker',
      args: (given) => [
        ...['run', '-i', '--rm'],
        ...(given.environmentVariables ?? []).flatMap(({ name }) => (name === undefined ? [] : ['-e', name])),
        ...argumentsOf(given.runtimeArguments),
        target(given, ':'),
      ],
    },
  } satisfies Record<string, Runner>),
)

/** Undefined where the page cannot show it. */
export function packageInvocation(given: ServerPackage): Invocation | undefined {
  const { registryType, identifier, transport, environmentVariables = [] } = given
  const runner = RUNNERS.get(registryType)
  if (runner === undefined || transport.type !== 'stdio') return undefined
  return {
    title: `${registryType}: ${identifier}`,
    command: runner.command,
    args: [...runner.args(given), ...argumentsOf(given.packageArguments)],
    type: 'stdio',
    values: environmentVariables,
    variables: new Map(),
  }
}

const argumentsOf = (given: readonly Input[] = []): string[] =>
  given.flatMap((each) => {
    const { type, name, value = each.default ?? `<${each.valueHint ?? 'value'}>` } = each
    if (type !== 'named' || name === undefined) return [value]
    return each.value === undefined && each.default === undefined && each.isRequired !== true
      ? []
      : [name, value]
  })

/** A value that the user fills in: a header, an environment variable, or a variable in braces in a URL or header. */
export type Field = Pick<Input, 'name' | 'description' | 'isSecret' | 'value' | 'default'>

/** Variables in braces, by name. */
type Fields = ReadonlyMap<string, Field>

// Each variable adds its value, which may be long, to every snippet.
const MOST_USES = 32

const VARIABLE = /\{([A-Za-z_][\w.-]{0,63})\}/g

/** Replaces the variables in braces by values. */
export const filled = (text: string, fields: Fields, placeholder: (name: string) => string): string =>
  text.replaceAll(VARIABLE, (_, name) => fields.get(name)?.value ?? placeholder(name))

/** The variables in the URL and headers of a remote server, declared or not; undefined when there are too many uses. */
function fieldsOf({ url = '', headers = [], variables = {} }: Transport): Fields | undefined {
  const texts = [url, ...headers.map((header) => header.value ?? header.default ?? '')]
  const names = texts.flatMap((text) => [...text.matchAll(VARIABLE)].map(([, name = '']) => name))
  if (names.length > MOST_USES) return undefined
  const declared = new Map(
    [variables, ...headers.map((header) => header.variables ?? {})].flatMap((each) => Object.entries(each)),
  )
  return new Map(names.map((name) => [name, { ...declared.get(name), name }]))
}
