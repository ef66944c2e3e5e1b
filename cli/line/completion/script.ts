import type { Command } from '../option.js'
import { bashScript } from './bash.js'
import { fishScript } from './fish.js'
import { zshScript } from './zsh.js'

/** The script that makes a shell complete the commands of the table. */
export function completionScript(shell: string | undefined, commands: readonly Command[]): string {
  if (shell === 'zsh') return zshScript(commands)
  if (shell === 'fish') return fishScript(commands)
  return bashScript(commands)
}
