import { commands } from '../options/commands.js'
import { completionScript } from '../options/completion.js'
import type { Invocation } from '../options/option.js'

/** Prints the completion script of the shell that was asked for. */
export async function completion({ positionals: [shell] }: Invocation): Promise<undefined> {
  process.stdout.write(completionScript(shell, commands))
}
