import { nextWords, programs, quoted, valueFlags } from './completion-words.js'
import type { Command, Option } from './option.js'
import { accumulates } from './option.js'

export function zshScript(commands: readonly Command[]): string {
  const presets = programs.map(([program, preset]) => `    ${program}) at='${preset}' ;;`)
  const paths = commands.map(({ name }) => `'${name}'`).join(' | ')
  const cases = commands.map(({ name, groups }) => {
    const specs = groups.flatMap(({ options }) => options.flatMap(specsOf))
    const next = nextWords(name, commands)
    const words = next.length === 0 ? "'*: :_default'" : quoted(`*: :(${next.join(' ')})`)
    return `    '${name}') _arguments -S ${[...specs, words].join(' \\\n      ')} ;;`
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
    quoted(`${often}--${name}=[${text}]:${(option.placeholder ?? 'value').toLowerCase()}:${action(option)}`),
  ]
}

function action({ choices, placeholder }: Option): string {
  // In a spec a colon ends a field.
  if (choices !== undefined) return `(${choices.map((choice) => choice.replaceAll(':', '\\:')).join(' ')})`
  if (placeholder === 'FILE') return '_files'
  return placeholder === 'DIR' ? '_files -/' : ' '
}
