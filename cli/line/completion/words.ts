import type { Command, Option } from '../option.js'

/** The programs that the scripts complete, each with its command. */
export const programs: readonly (readonly [program: string, preset: string])[] = [
  ['sallyport', ''],
  ['sallyport-registry', 'registry'],
  ['sallyport-proxy', 'proxy'],
]

export function optionsOf(command: Command): readonly Option[] {
  return command.groups.flatMap(({ options }) => options)
}

/** The flags of all commands that take a value, so that a script can distinguish values from words. */
export function valueFlags(commands: readonly Command[]): readonly string[] {
  const options = commands.flatMap(optionsOf).filter(({ type }) => type !== 'boolean')
  return [...new Set(options.map(({ name }) => `--${name}`))]
}

/** The words that may follow `path`: the next word of a command, or a choice of its first argument. */
export function nextWords(path: string, commands: readonly Command[]): readonly string[] {
  const depth = path === '' ? 0 : path.split(' ').length
  const deeper = commands
    .map(({ name }) => name)
    .filter((name) => path === '' || name.startsWith(`${path} `))
    .map((name) => name.split(' ')[depth] ?? '')
  const choices = commands.find(({ name }) => name === path)?.positionals[0]?.choices ?? []
  return [...new Set([...deeper, ...choices])]
}

/** Every sequence of words that can be continued: the commands, and the beginnings of commands, such as `plugin`. */
export function pathsOf(commands: readonly Command[]): readonly string[] {
  const paths = commands.flatMap(({ name }) => {
    const words = name.split(' ')
    return words.map((_, index) => words.slice(0, index + 1).join(' '))
  })
  return [...new Set(paths)]
}

/** Whether the arguments of a command are files. */
export function takesFiles(path: string, commands: readonly Command[]): boolean {
  const [argument] = commands.find(({ name }) => name === path)?.positionals ?? []
  return argument?.name === 'FILE' || argument?.name === 'PATH'
}

/** A word in single quotes, for bash and zsh. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
