import { commands } from '#cli/commands/index.js'
import type { OptionValue } from '#cli/line/option.js'
import type { Parsed } from '#cli/line/parse.js'
import { parse } from '#cli/line/parse.js'
import { helpOptions } from '#cli/line/shared-flags.js'
import type { Problem } from '#core/contract/problem.js'

type Environment = Readonly<Record<string, string>>

/** The command line as the program reads it. */
export function parsed(argv: readonly string[], environment: Environment = {}): Parsed {
  return parse(argv, environment, commands, helpOptions)
}

/** `sallyport proxy NAME` with a target, and these words after it. */
export function proxied(argv: readonly string[], environment: Environment = {}): Parsed {
  return parsed(['proxy', 'name', '--target-uri', 'https://target.example', ...argv], environment)
}

/** What was read for an option, when all was well. */
export function valueGiven({ invocation, problems }: Parsed, name: string): OptionValue | undefined {
  if (invocation === undefined) throw new Error(problems.map(({ place }) => place).join())
  return invocation.options.get(name)?.value
}

export function placesOf({ problems }: { readonly problems: readonly Problem[] }): readonly string[] {
  return problems.map(({ place }) => place)
}
