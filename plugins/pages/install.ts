import type { Described, Input, ServerPackage, Transport } from './described.js'

/** Something to paste into a client's configuration. */
export interface Snippet {
  readonly client: string
  /** Where it goes. */
  readonly place: string
  readonly text: string
}

/** One way to run or reach a server, told for each client. */
export interface Way {
  readonly title: string
  readonly snippets: readonly Snippet[]
}

/** How a server is started or reached, before a client's own form is put on it. */
interface Plan {
  readonly title: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly url?: string
  readonly type: string
  /** Headers of a remote server, or the environment of a local one. */
  readonly values: readonly Input[]
}

/** Every way to use a server that a client can be told about. */
export function waysOf({ name, packages = [], remotes = [] }: Described): Way[] {
  const plans = [...remotes.map(remotePlan), ...packages.map(packagePlan)].filter(
    (plan) => plan !== undefined,
  )
  const key = name.split('/')[1] ?? name
  return plans.map((plan) => ({ title: plan.title, snippets: CLIENTS.map((client) => client(key, plan)) }))
}

function remotePlan({ type, url, headers = [] }: Transport): Plan | undefined {
  if (url === undefined) return undefined
  return { title: `Remote: ${url}`, url, type: type === 'sse' ? 'sse' : 'http', values: headers }
}

interface Runner {
  readonly command: string
  readonly args: (identifier: string, version: string | undefined, environment: readonly string[]) => string[]
}

const at = (identifier: string, version: string | undefined): string =>
  version === undefined ? identifier : `${identifier}@${version}`

// A document does not choose the program that runs here: it would be one line from there to a shell.
const RUNNERS: Readonly<Record<string, Runner>> = {
  npm: { command: 'npx', args: (identifier, version) => ['-y', at(identifier, version)] },
  pypi: { command: 'uvx', args: (identifier, version) => [at(identifier, version)] },
  nuget: { command: 'dnx', args: (identifier, version) => [at(identifier, version), '--yes'] },
  oci: {
    command: 'docker',
    args: (identifier, version, environment) => [
      'run',
      '-i',
      '--rm',
      ...environment.flatMap((each) => ['-e', each]),
      version === undefined ? identifier : `${identifier}:${version}`,
    ],
  },
}

function packagePlan(given: ServerPackage): Plan | undefined {
  const { registryType, identifier, version, transport, environmentVariables = [] } = given
  const runner = RUNNERS[registryType]
  if (runner === undefined || transport.type !== 'stdio') return undefined
  const environment = environmentVariables.flatMap(({ name }) => name ?? [])
  const base = runner.args(identifier, version, environment)
  const image = registryType === 'oci' ? base.splice(-1) : []
  const runtime = registryType === 'oci' ? argumentsOf(given.runtimeArguments) : []
  return {
    title: `${registryType}: ${identifier}`,
    command: runner.command,
    args: [...base, ...runtime, ...image, ...argumentsOf(given.packageArguments)],
    type: 'stdio',
    values: environmentVariables,
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

type Client = (key: string, plan: Plan) => Snippet

/** A value that a person has to fill in, in the way each client asks for it. */
const filled = (values: readonly Input[], ask: (name: string) => string): Record<string, string> =>
  Object.fromEntries(
    values.flatMap(({ name, value, default: usual }) =>
      name === undefined ? [] : [[name, value ?? usual ?? ask(idOf(name))]],
    ),
  )

const idOf = (name: string): string => name.replaceAll(/[^A-Za-z0-9]+/g, '_').toUpperCase()

function entryOf({ command, args, url, values }: Plan, ask: (name: string) => string, type?: string) {
  const given = filled(values, ask)
  const key = url === undefined ? 'env' : 'headers'
  return {
    ...(type !== undefined && { type }),
    ...(url === undefined ? { command, args } : { url }),
    ...(Object.keys(given).length > 0 && { [key]: given }),
  }
}

const text = (value: unknown): string => JSON.stringify(value, undefined, 2)

const vsCode: Client = (key, plan) => {
  const asked = plan.values.filter(
    ({ name, value, default: usual }) => name !== undefined && value === undefined && usual === undefined,
  )
  const inputs = asked.map(({ name = '', description, isSecret }) => ({
    type: 'promptString',
    id: idOf(name),
    description: description ?? name,
    password: isSecret ?? false,
  }))
  const entry = entryOf(plan, (id) => `\${input:${id}}`, plan.type)
  return {
    client: 'VS Code',
    place: '.vscode/mcp.json',
    text: text({ ...(inputs.length > 0 && { inputs }), servers: { [key]: entry } }),
  }
}

const claude: Client = (key, plan) => ({
  client: 'Claude',
  place: '.mcp.json of a project',
  text: text({ mcpServers: { [key]: entryOf(plan, (id) => `\${${id}}`, plan.type) } }),
})

const cursor: Client = (key, plan) => ({
  client: 'Cursor',
  place: '.cursor/mcp.json',
  text: text({ mcpServers: { [key]: entryOf(plan, (id) => `\${env:${id}}`) } }),
})

const CLIENTS: readonly Client[] = [vsCode, claude, cursor]
