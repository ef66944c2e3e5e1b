import {
  type Field,
  filled,
  type Invocation,
  packageInvocation,
  remoteInvocation,
  textOf,
} from './invocation.js'
import { type Input, type ServerDetails, webLink } from './server-details.js'

/** Configuration to paste into a client. */
export interface Snippet {
  readonly client: string
  /** The file of the client for this configuration. */
  readonly file: string
  readonly text: string
}

/** One way to run or reach a server, with the configuration of each client. */
export interface InstallMethod {
  readonly title: string
  readonly snippets: readonly Snippet[]
  readonly links: readonly InstallLink[]
  /** Hints for the user, such as values to fill in. */
  readonly fields: readonly Field[]
}

/** A link that installs the server in a client. */
interface InstallLink {
  readonly client: string
  readonly href: string
}

// Real documents stay far below these limits. Markup and URLs take up to six times the bytes of their contents, and a
// page has each method five times.
const MOST_METHODS = 20
const MOST_VALUES = 32
const MOST_CHARACTERS = 16 * 1024
/** The most bytes of all snippets of a page. */
const MOST_OF_ALL = 64 * 1024

/** The ways to run or reach a server that clients support, and that are small enough for a page. */
export function installMethodsOf({ name, packages = [], remotes = [] }: ServerDetails): InstallMethod[] {
  const key = name.split('/')[1] ?? name
  const methods: InstallMethod[] = []
  let size = 0
  const ways = [
    ...remotes.slice(0, MOST_METHODS).map((each) => () => remoteInvocation(each)),
    ...packages.slice(0, MOST_METHODS).map((each) => () => packageInvocation(each)),
  ]
  for (const invocationOf of ways) {
    const invocation = invocationOf()
    const method = invocation && methodOf(key, invocation)
    if (method === undefined) continue
    size += method.snippets.reduce((sum, { text }) => sum + text.length, 0)
    if (size > MOST_OF_ALL || methods.length === MOST_METHODS) break
    methods.push(method)
  }
  return methods
}

function methodOf(key: string, invocation: Invocation): InstallMethod | undefined {
  const { title, values, variables } = invocation
  const fields = [...variables.values(), ...values]
  if (fields.length > MOST_VALUES || textOf(invocation).length > MOST_CHARACTERS) return undefined
  const snippets = CLIENTS.map((client) => client(key, invocation))
  if (snippets.some(({ text }) => text.length > MOST_CHARACTERS)) return undefined
  return {
    title,
    snippets,
    links: isLinkable(invocation) ? [vsCodeLink(key, invocation), cursorLink(key, invocation)] : [],
    fields: fields.filter(({ value }) => value === undefined),
  }
}

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
    ...[...variables.values()].filter(({ value }) => value === undefined),
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

// One click follows a link, so it has no other scheme, and no placeholder of the client, by which a document could read
// the user's environment. The values of two variables may form a placeholder together.
const isLinkable = (invocation: Invocation): boolean => {
  const { url, variables } = invocation
  const filledIn = JSON.stringify(entryOf(invocation, () => 'x'))
  if ([textOf(invocation), filledIn].some((each) => each.includes('${'))) return false
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
  // This client does not prompt: a remote server would receive the variables of the user's environment that its
  // document names. A local program can read the environment anyway.
  const entry =
    invocation.url === undefined ? cursorEntry(invocation) : entryOf(invocation, (id) => `<${id}>`)
  const config = Buffer.from(JSON.stringify(entry)).toString('base64')
  const query = `name=${encoded(name)}&config=${encoded(config)}`
  return { client: 'Cursor', href: `cursor://anysphere.cursor-deeplink/mcp/install?${query}` }
}

/** Encodes text for a URL, which unlike a document cannot hold half a surrogate pair. */
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
