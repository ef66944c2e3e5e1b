import type { OptionGroup } from './option.js'

/** A file of either kind, for the commands that look at one. */
export const configFile = {
  name: 'config',
  type: 'string',
  placeholder: 'FILE',
  help: 'A file of `sallyport registry` or `sallyport run`, in YAML or JSON',
} as const satisfies OptionGroup['options'][number]

/** For the commands whose answer a program may want to read. */
export const asJson = {
  name: 'json',
  type: 'boolean',
  help: 'Print JSON, for programs',
} as const satisfies OptionGroup['options'][number]
