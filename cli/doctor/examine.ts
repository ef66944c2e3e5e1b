import { access, constants, readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Authenticator, isPlannedScope, type PlannedEntry, type PlannedScope, secretFrom } from 'sallyport'
import { parse } from 'yaml'
import { isMapping } from '../config/path.js'
import { Chart, type Finding, messageOf } from '../findings/chart.js'
import { examineConnection } from './connection.js'
import { examineExchange } from './exchange.js'
import { examineLogin } from './oauth.js'
import { examineProvider, providerIn } from './provider.js'
import { examineResource, examineTarget, type Outgoing } from './target.js'

/** Looks at everything outside that a list needs, all of it at once; what was found comes in the order of the list. */
export async function examine(plan: PlannedScope, folder: string): Promise<readonly Finding[]> {
  const found = await Promise.all(
    plan.items.map(async (item) =>
      isPlannedScope(item)
        ? examine(item, folder)
        : inScope(plan.path, await examineItem(item, plan, folder)),
    ),
  )
  return found.flat()
}

async function examineItem(
  item: PlannedEntry,
  around: PlannedScope,
  folder: string,
): Promise<readonly Finding[]> {
  const { id, plugin } = item
  const options = isMapping(item.options) ? item.options : {}
  const provider = provides(item, Authenticator) ? providerIn(options) : undefined
  if (provider !== undefined) return examineProvider(id, provider, (path) => resolve(folder, path))

  const { target, resource, url, path } = options
  if (plugin.name === 'credential/oauth') return examineLogin(id, options, hasClient(around))
  if (plugin.name === 'forward/http' && isWeb(target))
    return examineTarget(id, target, outgoing(around, folder))
  if (plugin.name === 'discovery/resource' && isWeb(resource)) return examineResource(id, resource)
  if (plugin.name === 'source/file' && typeof path === 'string') return examineFile(id, resolve(folder, path))
  return isWeb(url) ? examinePlace(item, url, options, folder) : []
}

const inScope = (scope: string, findings: readonly Finding[]): readonly Finding[] =>
  scope === '' ? findings : findings.map((finding) => ({ ...finding, about: `${scope} ${finding.about}` }))

async function examineFile(id: string, path: string): Promise<readonly Finding[]> {
  const chart = new Chart(id)
  try {
    const isFolder = (await stat(path)).isDirectory()
    await access(path, constants.R_OK)
    if (isFolder) chart.ok('file', `${path} can be read`)
    else examineText(chart, path, await readFile(path, 'utf8'))
  } catch (error) {
    chart.wrong(
      'file',
      'FILE_UNREADABLE',
      `cannot be read: ${messageOf(error)}`,
      'correct `path`, or write the file',
    )
  }
  return chart.findings
}

function examineText(chart: Chart, path: string, text: string): void {
  const isYaml = /\.ya?ml$/i.test(path)
  try {
    if (isYaml) parse(text)
    else JSON.parse(text)
    chart.ok('file', `${path} can be read`)
  } catch (error) {
    const form = isYaml ? 'YAML' : 'JSON'
    chart.wrong('file', 'FILE_MALFORMED', `is not ${form}: ${messageOf(error)}`, 'repair the file')
  }
}

const optionsOf = ({ items }: PlannedScope, name: string): Readonly<Record<string, unknown>> | undefined => {
  const entry = items.find((item) => !isPlannedScope(item) && item.plugin.name === name)
  const options = entry === undefined || isPlannedScope(entry) ? undefined : entry.options
  return isMapping(options) ? options : undefined
}

const hasClient = (list: PlannedScope): boolean =>
  ['registrar/given', 'registrar/metadata-document'].some((name) => optionsOf(list, name) !== undefined)

/** What the list sends to its target. A file that cannot be read is told by the start itself. */
function outgoing(list: PlannedScope, folder: string): Outgoing {
  const login = optionsOf(list, 'credential/oauth')
  const redirects = login?.['grant'] === 'authorization_code'
  // A login whose server is named does not ask the target for one.
  const asks = login !== undefined && login['issuer'] === undefined && login['tokenUrl'] === undefined
  const client = asks ? { hasClient: hasClient(list), redirects, vouched: false } : undefined
  const { token, file } = optionsOf(list, 'credential/static-bearer') ?? {}
  try {
    const secret = secretFrom({
      value: typeof token === 'string' ? token : undefined,
      file: typeof file === 'string' ? resolve(folder, file) : undefined,
    })
    const bearer = secret?.reveal()
    secret?.close()
    return { bearer, client }
  } catch {
    return { client }
  }
}

/** Whatever else has a URL: a source, a token endpoint. What it answers is its plugin's business. */
async function examinePlace(
  { id, plugin }: PlannedEntry,
  url: string,
  options: Readonly<Record<string, unknown>>,
  folder: string,
): Promise<readonly Finding[]> {
  const { caCertPath, allowPrivateIP } = options
  const chart = new Chart(id)
  const reached = await examineConnection(chart, url, {
    caFile: typeof caCertPath === 'string' ? resolve(folder, caCertPath) : undefined,
    privateOption: allowPrivateIP === false ? 'allowPrivateIP: true' : undefined,
  })
  if (reached && plugin.name === 'credential/token-exchange') {
    await examineExchange(chart, options, (path) => resolve(folder, path))
  }
  return chart.findings
}

const provides = ({ plugin }: PlannedEntry, { token }: { readonly token: symbol }): boolean =>
  plugin.provides?.some((provided) => provided.token === token) ?? false

const isWeb = (value: unknown): value is string =>
  typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
