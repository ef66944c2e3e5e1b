import { resolve } from 'node:path'
import type { SettingPath } from 'sallyport'
import { pathText } from '#core/toolkit/path-text.js'
import { formsOf, type Option, type ResolvedOption } from '../line/option.js'
import { furtherPlugin } from '../line/shared-flags.js'

/** A value of the command line for settings in another folder: its path starts at the working directory. */
export function fromHere(option: Option, text: string): string {
  const { path, isMixed } = formsOf(option)
  if (path === undefined) return text
  return isMixed ? usedFrom('.', text) : resolve(text)
}

/** What `--plugin` names. */
export function usesOf(resolved: ResolvedOption | undefined): readonly string[] {
  const uses = Array.isArray(resolved?.value) ? resolved.value.map(String) : []
  return uses.map((use) => fromHere(furtherPlugin, use))
}

/** The flag, and where an option of its plugin can be given: `rest` is a path inside the entry. */
export function placeOfFlag(place: string, [part, ...option]: SettingPath): string {
  if (part !== 'with') return place
  const path = option.length === 0 ? '' : `: ${pathText(option)}`
  return `${place} gives no options, \`plugins\` in a file of --config does${path}`
}

/** The same plugin for a list in another folder. */
export const usedFrom = (folder: string, use: string): string =>
  /^\.\.?\//.test(use) ? resolve(folder, use) : use
