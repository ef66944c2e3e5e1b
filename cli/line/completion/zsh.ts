import type { Command, Option } from '../option.js'
import { accumulates, formsOf, placeholderOf } from '../option.js'
import { nextWords, optionsOf, pathsOf, programs, quoted, valueFlags } from './words.js'

export function zshScript(commands: readonly Command[]): string {
  const presets = programs.map(([program, preset]) => `    ${program}) at='${preset}' ;;`)
  const paths = pathsOf(commands)
    .map((path) => `'${path}'`)
    .join(' | ')
  const cases = pathsOf(commands).map((path) => {
    const command = commands.find(({ name }) => name === path)
    const specs = command === undefined ? [] : optionsOf(command).flatMap(specsOf)
    const next = nextWords(path, commands)
    const words = next.length === 0 ? "'*: :_default'" : quoted(`*: :(${next.join(' ')})`)
    return `    '${path}') _arguments -S ${[...specs, words].join(' \\\n      ')} ;;`
  })
  return `#compdef ${programs.map(([program]) => program).join(' ')}
_sallyport() {
  local at='' word next index
  case "\${words[1]:t}" in
${presets.join('\n')}
  esac
  for (( index = 2; index < CURRENT; index++ )); do
    word=\${words[index]}
    case "$word" in
      ${valueFlags(commands).join('|')}) (( index++ )) ;;
      -*) ;;
      *) next="\${at:+$at }$word"
        case "$next" in ${paths}) at=$next ;; esac ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
    *) _arguments -S '--help[Show help]' '--version[Show the version]' '*: :(${nextWords('', commands).join(' ')})' ;;
  esac
}
# Loaded from fpath the file is the function itself; sourced, it has to be announced.
if [[ $funcstack[1] == _sallyport ]]; then _sallyport "$@"; else compdef _sallyport ${programs
    .map(([program]) => program)
    .join(' ')}; fi
`
}

function specsOf(option: Option): readonly string[] {
  const { name, short, type, help } = option
  const text = help.replaceAll(/[[\]\\]/g, '\\$&')
  const often = accumulates(option) ? '*' : ''
  if (type === 'boolean') {
    const flags = short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`]
    return flags.map((flag) => quoted(`${flag}[${text}]`))
  }
  return [
    quoted(
      `${often}--${name}=[${text}]:${placeholderOf(option).toLowerCase().replaceAll(':', '\\:')}:${action(option)}`,
    ),
  ]
}

function action(option: Option): string {
  const { words, path } = formsOf(option)
  const files = path === 'DIR' ? '_files -/' : '_files'
  // In a spec a colon ends a field.
  const list = words.map((word) => word.replaceAll(':', '\\:')).join(' ')
  if (path === undefined) return list === '' ? ' ' : `(${list})`
  return list === '' ? files : `{compadd ${list}; ${files}}`
}
