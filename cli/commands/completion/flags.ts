import type { CommandDefinition } from '../../line/option.js'
import { sharedGroup } from '../../line/shared-flags.js'

export const completionCommand = {
  name: 'completion',
  summary: 'Print a completion script for a shell',
  description: 'Prints a script that lets a shell complete commands, flags, choices and files.',
  positionals: [{ name: 'SHELL', help: 'the shell', required: true, choices: ['bash', 'zsh', 'fish'] }],
  groups: [sharedGroup],
  examples: [
    'source <(sallyport completion bash)',
    'sallyport completion zsh > ~/.zfunc/_sallyport',
    'sallyport completion fish > ~/.config/fish/completions/sallyport.fish',
  ],
} as const satisfies CommandDefinition
