import type { EntryFacts, Examination } from 'sallyport'
import { isPlannedScope, type PlannedEntry, type PlannedScope } from 'sallyport/embed'
import { isJsonObject, messageOf, pathsFrom, within } from 'sallyport/toolkit'
import { type Finding, FindingList } from '../findings/finding-list.js'
import { reach } from './connection.js'
import { askFor, askIssuer } from './documents.js'
import { greet } from './greeting.js'
import { lists } from './lists.js'
import { examineNamedServer, examineResource } from './walk.js'

/** Milliseconds that one entry may take; each probe has a limit of its own. */
const PATIENCE = 60_000

/** Looks at everything outside that a list needs, all of it at once; what was found comes in the order of the list. */
export async function examine(
  { path: scope, items }: PlannedScope,
  folder: string,
  patience = PATIENCE,
): Promise<readonly Finding[]> {
  const path = pathsFrom(folder)
  const around = items.flatMap((item) => (isPlannedScope(item) ? [] : [factsOf(item, path)]))
  const found = await Promise.all(
    items.map(async (item) => {
      if (isPlannedScope(item)) return examine(item, folder, patience)
      return inScope(scope, await examineEntry(item, { scope, path, around }, patience))
    }),
  )
  return found.flat()
}

const inScope = (scope: string, findings: readonly Finding[]): readonly Finding[] =>
  scope === '' ? findings : findings.map((finding) => ({ ...finding, about: `${scope} ${finding.about}` }))

type Surroundings = Pick<Examination, 'scope' | 'path' | 'around'>

function factsOf({ plugin, options }: PlannedEntry, path: Examination['path']): EntryFacts {
  try {
    return plugin.facts?.({ path }, options as never) ?? {}
  } catch {
    // Others are examined without them. What is wrong with the entry is for its own examination to say.
    return {}
  }
}

/** What the plugin examines. One that fails or hangs keeps nothing from the others. */
async function examineEntry(
  entry: PlannedEntry,
  surroundings: Surroundings,
  patience: number,
): Promise<readonly Finding[]> {
  const { id, plugin, options } = entry
  const chart = new FindingList(id)
  const late = (): Error => new Error(`it is not done after ${patience / 1000} s`)
  const work = async (): Promise<void> => {
    const examination = examinationOf(chart, id, surroundings)
    // The plugin gets what its own schema returned, which is what its `examine` is typed for.
    if (plugin.examine === undefined) await examineUrl(examination, options)
    else await plugin.examine(examination, options as never)
  }
  try {
    await within(patience, work(), late)
  } catch (error) {
    const advice = 'correct what it says, or report it to whoever made the plugin'
    chart.wrong('examination', 'EXAMINATION_FAILED', messageOf(error), advice)
  }
  // What is found after its time is not printed any more.
  return [...chart.findings]
}

const examinationOf = (chart: FindingList, id: string, surroundings: Surroundings): Examination => ({
  ...surroundings,
  id,
  ok: (...finding) => chart.ok(...finding),
  warning: (...finding) => chart.warning(...finding),
  wrong: (...finding) => chart.wrong(...finding),
  probes: {
    reach: (url, options = {}) => reach(chart, url, options),
    greet,
    lists,
    ask: askFor,
    askIssuer,
    resource: (...asked) => examineResource(chart, ...asked),
    authorizationServer: (...asked) => examineNamedServer(chart, ...asked),
  },
})

/** Whatever has a URL and no `examine`: a source, an endpoint. What it answers is its plugin's business. */
async function examineUrl({ probes, path }: Examination, options: unknown): Promise<void> {
  if (!isJsonObject(options) || !isWeb(options['url'])) return
  const { url, caCertPath, allowPrivateIP } = options
  await probes.reach(url, {
    caFile: typeof caCertPath === 'string' ? path(caCertPath) : undefined,
    privateOption: allowPrivateIP === false ? 'allowPrivateIP: true' : undefined,
  })
}

const isWeb = (value: unknown): value is string =>
  typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
