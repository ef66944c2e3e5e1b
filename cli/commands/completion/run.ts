import type { Io } from '../../io.js'
import { completionScript } from '../../line/completion/script.js'
import type { Command, Invocation } from '../../line/option.js'

/** Prints the completion script of the shell that was asked for. */
export async function completion(
  { positionals: [shell] }: Invocation,
  { stdout }: Io,
  commands: readonly Command[],
): Promise<undefined> {
  stdout.write(completionScript(shell, commands))
}
