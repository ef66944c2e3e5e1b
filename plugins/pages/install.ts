import {
  type Input,
  type ServerDetails,
  type ServerPackage,
  type Transport,
  webLink,
} from './server-details.js'
import { type Field, fieldsOf, filled } from './template.js'

/** Configuration to paste into a client. */
export interface Snippet {
  readonly client: string
  /** The file that it belongs in. */
  readonly file: string
  readonly text: string
}

/** One way to run or reach a server, with the configuration of each client. */
export interface InstallMethod {
  readonly title: string
  readonly snippets: readonly Snippet[]
  readonly links: readonly InstallLink[]
  /** What a user has to know or fill in. */
  readonly fields: readonly Field[]
}

/** A link that installs the server in a client. */
interface InstallLink {
  readonly client: string
  readonly href: string
}

/** How a server is started or reached, independent of the client. */
interface Invocation {
  readonly title: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly url?: string
  readonly type: string
  /** Headers of a remote server, or the environment of a local one. */
  readonly values: readonly Input[]
  /** Variables in the URL and headers. */
  readonly variables: readonly Field[]
}

/** All ways to run or reach a server that clients support. */
export function installMethodsOf({ name, packages = [], remotes = [] }: ServerDetails): InstallMethod[] {
  const invocations = [...remotes.map(remoteInvocation), ...packages.map(packageInvocation)].filter(
    (invocation) => invocation !== undefined,
  )
  const key = name.split('/')[1] ?? name
  return invocations.map((invocation) => ({
    title: invocation.title,
    snippets: CLIENTS.map((client) => client(key, invocation)),
    links: isLinkable(invocation) ? [vsCodeLink(key, invocation), cursorLink(key, invocation)] : [],
    fields: [...invocation.variables, ...invocation.values].filter(({ value }) => value === undefined),
  }))
}

function remoteInvocation(transport: Transport): Invocation | undefined {
  const { type, url, headers = [] } = transport
  if (url === undefined) return undefined
  const own = { title: `Remote: ${url}`, url, type: type === 'sse' ? 'sse' : 'http' }
  return { ...own, values: headers, variables: fieldsOf(transport) }
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

function packageInvocation(given: ServerPackage): Invocation | undefined {
  const { registryType, identifier, transport, environmentVariables = [] } = given
  const runner = RUNNERS.get(registryType)
  if (runner === undefined || transport.type !== 'stdio') return undefined
  return {
    title: `${registryType}: ${identifier}`,
    command: runner.command,
    args: [...runner.args(given), ...argumentsOf(given.packageArguments)],
    type: 'stdio',
    values: environmentVariables,
    variables: [],
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

type Client = (key: string, invocation: Invocation) => Snippet

/** Headers or environment; `placeholder` makes what a client replaces by the user's value. */
const valuesOf = (
  values: readonly Input[],
  placeholder: (name: string) => string,
  fill: (text: string) => string,
): Record<string, string> =>
  Object.fromEntries(
    values.flatMap(({ name, value, default: fallback }) => {
      if (name === undefined) return []
      const given = value ?? fallback
      return [[name, given === undefined ? placeholder(idOf(name)) : fill(given)]]
    }),
  )

const idOf = (name: string): string => name.replaceAll(/[^A-Za-z0-9]+/g, '_').toUpperCase()

function entryOf(
  { command, args, url, values, variables }: Invocation,
  placeholder: (name: string) => string,
  type?: string,
) {
  const fill = (text: string): string => filled(text, variables, (name) => placeholder(idOf(name)))
  const given = valuesOf(values, placeholder, url === undefined ? (text) => text : fill)
  const key = url === undefined ? 'env' : 'headers'
  return {
    ...(type !== undefined && { type }),
    ...(url === undefined ? { command, args } : { url: fill(url) }),
    ...(Object.keys(given).length > 0 && { [key]: given }),
  }
}

const text = (value: unknown): string => JSON.stringify(value, undefined, 2)

const vsCodeInputs = ({ values, variables }: Invocation) => {
  const asked = [
    ...values.filter(({ value, default: fallback }) => value === undefined && fallback === undefined),
    ...variables.filter(({ value }) => value === undefined),
  ]
  const inputs = asked.flatMap(({ name, description, isSecret, default: fallback }) =>
    name === undefined
      ? []
      : [
          {
            type: 'promptString',
            id: idOf(name),
            description: description ?? name,
            password: isSecret ?? false,
            ...(fallback !== undefined && { default: fallback }),
          },
        ],
  )
  return [...new Map(inputs.map((input) => [input.id, input])).values()]
}

const vsCodeEntry = (invocation: Invocation) =>
  entryOf(invocation, (id) => `\${input:${id}}`, invocation.type)

const vsCode: Client = (key, invocation) => {
  const inputs = vsCodeInputs(invocation)
  return {
    client: 'VS Code',
    file: '.vscode/mcp.json',
    text: text({ ...(inputs.length > 0 && { inputs }), servers: { [key]: vsCodeEntry(invocation) } }),
  }
}

// One click follows a link: not to another scheme, and not with a placeholder of the client, by which a document could
// read the user's environment. The values of two variables may make one together.
const isLinkable = (invocation: Invocation): boolean => {
  const { url, variables } = invocation
  const filledIn = entryOf(invocation, () => 'x')
  if ([invocation, filledIn].some((each) => JSON.stringify(each).includes('${'))) return false
  return (
    url === undefined || (/^https?:/i.test(url) && webLink(filled(url, variables, () => 'x')) !== undefined)
  )
}

function vsCodeLink(name: string, invocation: Invocation): InstallLink {
  const inputs = vsCodeInputs(invocation)
  const config = { name, ...(inputs.length > 0 && { inputs }), ...vsCodeEntry(invocation) }
  return { client: 'VS Code', href: `vscode:mcp/install?${encoded(JSON.stringify(config))}` }
}

function cursorLink(name: string, invocation: Invocation): InstallLink {
  // It asks for nothing: a remote server would be sent what the user's environment has by the names that its document
  // chose. A program that is started reads the environment anyway.
  const entry =
    invocation.url === undefined ? cursorEntry(invocation) : entryOf(invocation, (id) => `<${id}>`)
  const config = Buffer.from(JSON.stringify(entry)).toString('base64')
  const query = `name=${encoded(name)}&config=${encoded(config)}`
  return { client: 'Cursor', href: `cursor://anysphere.cursor-deeplink/mcp/install?${query}` }
}

/** A document may have half a surrogate pair, which no URL can. */
const encoded = (part: string): string => encodeURIComponent(part.toWellFormed())

const claude: Client = (key, invocation) => ({
  client: 'Claude',
  file: '.mcp.json of a project',
  text: text({ mcpServers: { [key]: entryOf(invocation, (id) => `\${${id}}`, invocation.type) } }),
})

const cursorEntry = (invocation: Invocation) => entryOf(invocation, (id) => `\${env:${id}}`)

const cursor: Client = (key, invocation) => ({
  client: 'Cursor',
  file: '.cursor/mcp.json',
  text: text({ mcpServers: { [key]: cursorEntry(invocation) } }),
})

const CLIENTS: readonly Client[] = [vsCode, claude, cursor]
