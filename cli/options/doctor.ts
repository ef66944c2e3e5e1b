import { asJson, configFile } from './config-file.js'
import type { Option, OptionGroup } from './option.js'
import { proxyGroups } from './proxy.js'

/** What is doctor's own; the rest is the command line of a proxy. */
export const doctorGroup = {
  title: 'What to look at',
  options: [configFile, asJson],
} as const satisfies OptionGroup

/** Every flag of `sallyport proxy` stands here too: a command line that fails is looked at as it is. */
export const doctorGroups: readonly OptionGroup[] = [
  doctorGroup,
  ...proxyGroups.map(({ title, options }) => ({
    title,
    options: options.filter(({ name }) => name !== 'print-plugins').map(optional),
  })),
]

function optional(option: Option): Option {
  const { required: _, ...rest } = option
  return rest
}
