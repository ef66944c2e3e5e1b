import { resolve } from 'node:path'
import { Authenticator, isPlannedScope, type PlannedEntry, type PlannedScope } from 'sallyport'
import { isMapping } from '../config/path.js'
import { Chart, type Finding } from '../findings/chart.js'
import { examineConnection } from './connection.js'
import { examineProvider, providerIn } from './provider.js'
import { examineResource, examineTarget } from './target.js'

/** Looks at everything outside that a list needs, all of it at once; what was found comes in the order of the list. */
export async function examine(plan: PlannedScope, folder: string): Promise<readonly Finding[]> {
  const found = await Promise.all(plan.items.map((item) => examineItem(item, folder)))
  return found.flat()
}

async function examineItem(item: PlannedEntry | PlannedScope, folder: string): Promise<readonly Finding[]> {
  if (isPlannedScope(item)) return examine(item, folder)
  const { id, plugin } = item
  const options = isMapping(item.options) ? item.options : {}
  const provider = provides(item, Authenticator) ? providerIn(options) : undefined
  if (provider !== undefined) return examineProvider(id, provider, (path) => resolve(folder, path))

  const { target, resource, url } = options
  if (plugin.name === 'forward/http' && isWeb(target)) return examineTarget(id, target)
  if (plugin.name === 'discovery/resource' && isWeb(resource)) return examineResource(id, resource)
  return isWeb(url) ? examinePlace(id, url, options, folder) : []
}

/** Whatever else has a URL: a source, a token endpoint. What it answers is its plugin's business. */
async function examinePlace(
  id: string,
  url: string,
  { caCertPath, allowPrivateIP }: Readonly<Record<string, unknown>>,
  folder: string,
): Promise<readonly Finding[]> {
  const chart = new Chart(id)
  await examineConnection(chart, url, {
    caFile: typeof caCertPath === 'string' ? resolve(folder, caCertPath) : undefined,
    privateOption: allowPrivateIP === false ? 'allowPrivateIP: true' : undefined,
  })
  return chart.findings
}

const provides = ({ plugin }: PlannedEntry, { token }: { readonly token: symbol }): boolean =>
  plugin.provides?.some((provided) => provided.token === token) ?? false

const isWeb = (value: unknown): value is string =>
  typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
