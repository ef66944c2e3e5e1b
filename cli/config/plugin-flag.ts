import { resolve } from 'node:path'
import type { SettingPath } from 'sallyport'
import { pathText } from '#core/toolkit/path-text.js'
import { formsOf, type Option, type ResolvedOption } from '../line/option.js'
import { pluginFlag } from '../line/shared-flags.js'

/** A flag's value with its path made absolute, so that the path stays relative to the working folder. */
export function fromWorkingFolder(option: Option, text: string): string {
  const { path, isMixed } = formsOf(option)
  if (path === undefined) return text
  return isMixed ? resolveUse('.', text) : resolve(text)
}

/** The plugins that `--plugin` names. */
export function usesOf(resolved: ResolvedOption | undefined): readonly string[] {
  const uses = Array.isArray(resolved?.value) ? resolved.value.map(String) : []
  return uses.map((use) => fromWorkingFolder(pluginFlag, use))
}

/** The place of a problem in a plugin that a flag adds, and for its options the advice to write them in a file. */
export function placeOfFlag(place: string, [part, ...option]: SettingPath): string {
  if (part !== 'with') return place
  const path = option.length === 0 ? '' : `: ${pathText(option)}`
  return `${place} sets no options, \`plugins\` in a file of --config does${path}`
}

/** Makes the relative path of a plugin absolute, for a list in another folder. */
export const resolveUse = (folder: string, use: string): string =>
  /^\.\.?\//.test(use) ? resolve(folder, use) : use
