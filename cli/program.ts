import { setFlagsFromString } from 'node:v8'
import { commands } from './options/commands.js'
import type { Command, Invocation } from './options/option.js'
import type { Parsed } from './options/parse.js'
import { parse } from './options/parse.js'
import { helpOptions } from './options/shared.js'

/** Runs the program with the process's own arguments, `preset` before them; a preset is a command that a bin names. */
export async function main(preset?: string): Promise<void> {
  process.stdout.on('error', endOfReader)
  const argv = process.argv.slice(2)
  process.exitCode = await program(preset === undefined ? argv : [preset, ...argv], preset)
}

async function program(argv: readonly string[], preset: string | undefined): Promise<number> {
  const parsed = parse(argv, process.env, commands, helpOptions)
  if (parsed.asksFor === 'help') return help(parsed.command, preset)
  if (parsed.asksFor === 'version') return version()
  if (parsed.invocation !== undefined) return execute(parsed.invocation, parsed)
  const { tell } = await import('./terminal.js')
  return tell(parsed.problems)
}

async function execute(invocation: Invocation, { canonical }: Parsed): Promise<number> {
  const debug = invocation.given.get('debug')?.value === true
  try {
    // What runs once, while modules load, is not worth optimizing: the compiler's threads would take time and memory from it.
    setFlagsFromString('--no-opt')
    const { dispatch } = await import('./options/dispatch.js')
    const run = await dispatch(canonical, commands).run()
    setFlagsFromString('--opt')
    return (await run(invocation)) ?? 0
  } catch (error) {
    const { report } = await import('./terminal.js')
    return report(error, debug)
  }
}

async function help(command: Command | undefined, preset: string | undefined): Promise<number> {
  const [{ commandHelp, programHelp }, { painter }] = await Promise.all([
    import('./options/help.js'),
    import('./colour.js'),
  ])
  const { columns, isTTY } = process.stdout
  const page = {
    width: isTTY ? Math.min(Math.max(columns, 80), 120) : 80,
    paint: painter(process.stdout, process.env),
    called: ({ name }: Command) => `sallyport${preset === undefined ? ' ' : '-'}${name}`,
  }
  const text = command === undefined ? programHelp(commands, helpOptions, page) : commandHelp(command, page)
  process.stdout.write(`${text}\n`)
  return 0
}

async function version(): Promise<number> {
  const { createRequire } = await import('node:module')
  const { version: text }: { version: string } = createRequire(import.meta.url)('sallyport/package.json')
  process.stdout.write(`${text}\n`)
  return 0
}

// `sallyport --help | head -1` closes the pipe early; that is no failure.
function endOfReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}
