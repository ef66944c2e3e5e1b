import type { Input, ServerPackage, Transport } from './server-details.js'
import { type Fields, fieldsOf } from './template.js'

/** How a server is started or reached, independent of the client. */
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

/** All that is in it, to be searched and measured. */
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

// A document does not choose the program: it could name a shell.
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
