import type { List, Problem } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { planList } from 'sallyport/embed'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { recordedLog } from '#kit/booted.js'

/** What is wrong with settings of the proxy, by the preset or by the plugins that get them as options. */
export async function proxyProblems(written: object): Promise<readonly Problem[]> {
  const { data, error } = ProxySettings.safeParse(written)
  if (data === undefined) {
    return error.issues.map(({ path, message }) => ({ place: path.join('.'), message }))
  }
  return planProblems(proxy(data))
}

/** What plugins find wrong with the options that a preset gives them, at the settings that they are made of. */
async function planProblems(list: List): Promise<readonly Problem[]> {
  const locate = (path: readonly (string | number)[]): string => path.join('.')
  const context = { catalogue, folder: import.meta.dirname, log: recordedLog().log, locate }
  try {
    await planList(list, context)
    return []
  } catch (error) {
    const { problems } = error as { problems: readonly Problem[] }
    return problems.map(({ place, ...problem }) => ({ place: place.replace(/ \(.*\)$/, ''), ...problem }))
  }
}
