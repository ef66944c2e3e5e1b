import type { CommandDefinition } from '../../line/option.js'
import { asJson, general } from '../../line/shared-flags.js'

export const pluginVerifyCommand = {
  name: 'plugin verify',
  summary: 'Check a plugin against its contract',
  description:
    'Loads a plugin, checks its options, sets it up and stops it twice, runs the contract tests of its capabilities, and looks for open resources after the stop and for secrets in the log. The exit code is 1 when something is wrong. TypeScript runs where Node runs it, from 22.18 on; build it elsewhere.',
  positionals: [{ name: 'PATH', help: 'the file of the plugin, or its folder', required: true }],
  groups: general(
    {
      name: 'with',
      type: 'string',
      placeholder: 'FILE',
      help: 'Options for the plugin, in YAML or JSON, with paths relative to this file; by default samples that fit its schema',
    },
    asJson,
  ),
  examples: [
    'sallyport plugin verify ./my-guard',
    'sallyport plugin verify ./my-guard/dist/index.js --with options.yaml',
  ],
} as const satisfies CommandDefinition
