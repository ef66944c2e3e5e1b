import type { Io } from '../../io.js'
import { bashScript } from '../../line/completion/bash.js'
import { fishScript } from '../../line/completion/fish.js'
import { zshScript } from '../../line/completion/zsh.js'
import type { Command, Invocation } from '../../line/option.js'

/** Prints the completion script of a shell. */
export async function completion(
  { positionals: [shell] }: Invocation,
  { stdout }: Io,
  commands: readonly Command[],
): Promise<undefined> {
  stdout.write(completionScript(shell, commands))
}

/** The script with which a shell completes the commands of the table. */
export function completionScript(shell: string | undefined, commands: readonly Command[]): string {
  if (shell === 'zsh') return zshScript(commands)
  if (shell === 'fish') return fishScript(commands)
  return bashScript(commands)
}
