import { type Command, formsOf, type Option } from '../option.js'
import { nextWords, optionsOf, pathsOf, programs, takesFiles, valueFlags } from './words.js'

export function fishScript(commands: readonly Command[]): string {
  const presets = programs.map(([program, preset]) => `    case ${program}\n      set at '${preset}'`)
  const paths = pathsOf(commands)
    .map((path) => `'${path}'`)
    .join(' ')
  const lines = programs.flatMap(([program]) => [
    `complete -c ${program} -f`,
    ...['', ...pathsOf(commands)].flatMap((path) => linesFor(program, path, commands)),
  ])
  return `# fish completion for sallyport
function __sallyport_at
  set -l words (commandline -opc)
  set -l at ''
  switch (basename $words[1])
${presets.join('\n')}
  end
  set -l skip 0
  for word in $words[2..-1]
    if test $skip = 1
      set skip 0
      continue
    end
    switch $word
      case ${valueFlags(commands).join(' ')}
        set skip 1
      case '-*'
      case '*'
        set -l next (string trim "$at $word")
        contains -- $next ${paths}; and set at $next
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`
}

function linesFor(program: string, path: string, commands: readonly Command[]): readonly string[] {
  const start = `complete -c ${program} -n ${quoted(`__sallyport_at '${path}'`)}`
  const words = nextWords(path, commands).map((word) => {
    const summary = commands.find(({ name }) => name === [path, word].join(' ').trim())?.summary
    return `${start} -a ${word}${summary === undefined ? '' : ` -d ${quoted(summary)}`}`
  })
  const command = commands.find(({ name }) => name === path)
  const flags =
    command === undefined
      ? [`${start} -l help -s h`, `${start} -l version -s v`]
      : optionsOf(command).map((option) => `${start} ${flagText(option)}`)
  const files = takesFiles(path, commands) ? [`${start} -F`] : []
  return [...words, ...files, ...flags]
}

function flagText(option: Option): string {
  const { name, short, type, help } = option
  const { words, path } = formsOf(option)
  const parts = [`-l ${name}`, ...(short === undefined ? [] : [`-s ${short}`])]
  if (type !== 'boolean') parts.push(path === 'FILE' ? '-r -F' : '-x')
  if (words.length > 0) parts.push(`-a ${quoted(words.join(' '))}`)
  if (path === 'DIR') parts.push(`-a ${quoted('(__fish_complete_directories)')}`)
  return [...parts, `-d ${quoted(help)}`].join(' ')
}

// Inside single quotes fish has two escapes, \' and \\.
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
