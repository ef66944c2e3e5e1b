import { commands } from './commands/index.js'
import type { Io } from './io.js'
import type { Command, Invocation, Option } from './line/option.js'
import { type Parsed, parse } from './line/parse.js'
import { helpOptions } from './line/shared-flags.js'
import { tooFewFiles } from './open-files.js'

// Not imported from `terminal.ts`: help and version do not load that module.
const FAILED = 1

/** Runs a command line, and returns its exit code. `preset` is the command of a bin such as `sallyport-proxy`. */
export async function main(argv: readonly string[], io: Io, preset?: string): Promise<number> {
  let stdoutFailed = false
  io.stdout.on('error', ({ code = 'unknown reason' }: NodeJS.ErrnoException) => {
    // `sallyport --help | head -1` closes the pipe early; that is no failure.
    if (code === 'EPIPE' || stdoutFailed) return
    stdoutFailed = true
    io.stderr.write(
      `sallyport: cannot write to standard output (${code}): the rest of the output is missing\n`,
    )
  })
  // No other stream could report a failure of stderr.
  io.stderr.on('error', () => {})
  const code = await program(preset === undefined ? argv : [preset, ...argv], io, preset)
  await new Promise<void>((written) => io.stdout.write('', () => written()))
  return stdoutFailed && code === 0 ? FAILED : code
}

async function program(argv: readonly string[], io: Io, preset: string | undefined): Promise<number> {
  const parsed = parse(argv, io.env, commands, helpOptions)
  if (parsed.asksFor === 'help') return help(parsed.command, io, preset)
  if (parsed.asksFor === 'version') return version(io)
  const invocation = parsed.invocation ?? partialInvocation(parsed)
  if (invocation !== undefined) return execute(invocation, io, parsed)
  const { printProblems } = await import('./terminal.js')
  return printProblems(parsed.problems, io)
}

/** A wrong command line of a gateway still runs: the command prints its problems with those of the file. */
const partialInvocation = ({ command, partial, problems }: Parsed): Invocation | undefined =>
  command?.readsFile === true && problems.every(({ place }) => place !== '--config') ? partial : undefined

async function execute(invocation: Invocation, io: Io, { canonical }: Parsed): Promise<number> {
  const debug = invocation.options.get('debug')?.value === true
  // A service manager may send SIGHUP at once, which would end a gateway that has no listener yet.
  if (invocation.command.readsFile === true) io.signals.on('SIGHUP', () => {})
  const { hidden } = await import('./config/hidden.js')
  hidden.begin()
  try {
    // sade accepts only a command line without problems.
    const run = await (invocation.problems.length > 0
      ? invocation.command.run()
      : dispatch(canonical, commands))
    return (await run(invocation, io, commands)) ?? 0
  } catch (error) {
    // With too few open files, the module that prints errors could not be loaded.
    if (tooFewFiles(error) !== undefined) throw error
    const { printError } = await import('./terminal.js')
    return await printError(error, io, debug)
  } finally {
    hidden.end()
  }
}

async function help(
  command: Command | undefined,
  { stdout, env }: Io,
  preset: string | undefined,
): Promise<number> {
  const [{ commandHelp, programHelp }, { painter }] = await Promise.all([
    import('./line/help.js'),
    import('./colour.js'),
  ])
  const { columns = 0, isTTY } = stdout
  const page = {
    width: isTTY ? Math.min(Math.max(columns, 80), 120) : 80,
    paint: painter(stdout, env),
    called: ({ name }: Command) => `sallyport${preset === undefined ? ' ' : '-'}${name}`,
  }
  const text = command === undefined ? programHelp(commands, helpOptions, page) : commandHelp(command, page)
  stdout.write(`${text}\n`)
  return 0
}

async function version({ stdout }: Io): Promise<number> {
  const { createRequire } = await import('node:module')
  const { version: text }: { version: string } = createRequire(import.meta.url)('sallyport/package.json')
  stdout.write(`${text}\n`)
  return 0
}

/**
 * Calls the `run` of the command of a canonical command line. For any other command line sade would lose positionals,
 * turn 0123 into 123, and print problems itself; `parse` has found all problems before.
 */
export async function dispatch(
  canonical: readonly string[],
  commands: readonly Command[],
): ReturnType<Command['run']> {
  const { default: sade } = await import('sade')
  const program = sade('sallyport')
  for (const command of commands) {
    const positionals = command.positionals.map(({ name, required }) =>
      required ? `<${name}>` : `[${name}]`,
    )
    program.command([command.name, ...positionals].join(' '), command.summary).action(command.run)
  }
  const options = commands.flatMap(({ groups }) => groups.flatMap((group) => group.options))
  const { handler } = program.parse(['node', 'sallyport', ...canonical], {
    lazy: true,
    string: namesOf(options.filter(({ type }) => type !== 'boolean')),
    boolean: namesOf(options.filter(({ type }) => type === 'boolean')),
  })
  return handler()
}

function namesOf(options: readonly Option[]): string[] {
  return [...new Set(options.map(({ name }) => name))]
}
