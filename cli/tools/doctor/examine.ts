import type { EntryFacts, Examination } from 'sallyport'
import { isPlannedScope, type PlannedEntry, type PlannedScope } from 'sallyport/embed'
import { isJsonObject, messageOf, pathsFrom, within } from 'sallyport/toolkit'
import { type Finding, FindingList } from '../findings/finding-list.js'
import { reach } from './connection.js'
import { examineNamedServer, examineResource } from './discovery.js'
import { askIssuer, fetchDocument } from './documents.js'
import { greet } from './greeting.js'
import { lists } from './lists.js'

/** Milliseconds that one entry may take; each probe has a limit of its own. */
const ENTRY_TIMEOUT = 60_000

/** Examines all entries of a list at the same time. The findings come in the order of the list. */
export async function examine(
  { path: scope, items }: PlannedScope,
  folder: string,
  timeout = ENTRY_TIMEOUT,
): Promise<readonly Finding[]> {
  const path = pathsFrom(folder)
  const around = items.flatMap((item) => (isPlannedScope(item) ? [] : [factsOf(item, path)]))
  const found = await Promise.all(
    items.map(async (item) => {
      if (isPlannedScope(item)) return examine(item, folder, timeout)
      return inScope(scope, await examineEntry(item, { scope, path, around }, timeout))
    }),
  )
  return found.flat()
}

const inScope = (scope: string, findings: readonly Finding[]): readonly Finding[] =>
  scope === '' ? findings : findings.map((finding) => ({ ...finding, about: `${scope} ${finding.about}` }))

type ScopeContext = Pick<Examination, 'scope' | 'path' | 'around'>

function factsOf({ plugin, options }: PlannedEntry, path: Examination['path']): EntryFacts {
  try {
    return plugin.facts?.({ path }, options as never) ?? {}
  } catch {
    // The examination of the entry itself will report the error; other entries are examined without its facts.
    return {}
  }
}

/** Runs the examination of one plugin. If it fails or hangs, the others still run. */
async function examineEntry(
  entry: PlannedEntry,
  context: ScopeContext,
  timeout: number,
): Promise<readonly Finding[]> {
  const { id, plugin, options } = entry
  const findings = new FindingList(id)
  const late = (): Error => new Error(`the examination did not end within ${timeout / 1000} s`)
  const work = async (): Promise<void> => {
    const examination = examinationOf(findings, id, context)
    // The options come from the plugin's own schema, so they have the type that its `examine` expects.
    if (plugin.examine === undefined) await examineUrl(examination, options)
    else await plugin.examine(examination, options as never)
  }
  try {
    await within(timeout, work(), late)
  } catch (error) {
    const advice = 'correct the cause, or report it to the author of the plugin'
    findings.wrong('examination', 'EXAMINATION_FAILED', messageOf(error), advice)
  }
  // A copy: findings that come after the timeout are not printed.
  return [...findings.all]
}

const examinationOf = (findings: FindingList, id: string, context: ScopeContext): Examination => ({
  ...context,
  id,
  ok: (...finding) => findings.ok(...finding),
  warning: (...finding) => findings.warning(...finding),
  wrong: (...finding) => findings.wrong(...finding),
  probes: {
    reach: (url, options = {}) => reach(findings, url, options),
    greet,
    lists,
    ask: fetchDocument,
    askIssuer,
    resource: (...asked) => examineResource(findings, ...asked),
    authorizationServer: (...asked) => examineNamedServer(findings, ...asked),
  },
})

/** For a plugin with the option `url` and without `examine`: checks the connection. Only the plugin knows more. */
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
