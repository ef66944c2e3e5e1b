import { type Command, formsOf, type Option } from '../option.js'
import { nextWords, optionsOf, pathsOf, programs, takesFiles, valueFlags } from './words.js'

export function bashScript(commands: readonly Command[]): string {
  const presets = programs.map(([program, preset]) => `    ${program}) path='${preset}' ;;`)
  const paths = pathsOf(commands)
    .map((path) => `'${path}'`)
    .join(' | ')
  return `# bash completion for sallyport
_sallyport() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev='' path='' word next flags='' words='' files='' index
  (( COMP_CWORD > 0 )) && prev=\${COMP_WORDS[COMP_CWORD-1]}
  # bash splits --flag=value into three words.
  if [[ $cur == '=' ]]; then cur=''
  elif [[ $prev == '=' ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi

  case "\${COMP_WORDS[0]##*/}" in
${presets.join('\n')}
  esac
  for (( index = 1; index < COMP_CWORD; index++ )); do
    word=\${COMP_WORDS[index]}
    case "$word" in
      ${valueFlags(commands).join(' | ')}) [[ \${COMP_WORDS[index+1]} == '=' ]] && (( index++ )); (( index++ )) ;;
      -*) ;;
      *) next="\${path:+$path }$word"
        case "$next" in ${paths}) path=$next ;; esac ;;
    esac
  done

  case "$prev" in
${valueCases(commands).join('\n')}
  esac
  case "$path" in
${wordCases(commands).join('\n')}
  esac
  if [[ $cur == -* ]]; then COMPREPLY=( $(compgen -W "$flags" -- "$cur") )
  elif [[ -n $files ]]; then compopt -o filenames 2>/dev/null; COMPREPLY=( $(compgen -f -- "$cur") )
  else COMPREPLY=( $(compgen -W "$words" -- "$cur") )
  fi
}
complete -F _sallyport ${programs.map(([program]) => program).join(' ')}
`
}

function wordCases(commands: readonly Command[]): readonly string[] {
  return ['', ...pathsOf(commands)].map((path) => {
    const command = commands.find(({ name }) => name === path)
    const names = command === undefined ? ['help', 'version'] : optionsOf(command).map(({ name }) => name)
    const flags = names.map((name) => `--${name}`).join(' ')
    const files = takesFiles(path, commands) ? 'files=yes ' : ''
    return `    '${path}') flags='${flags}' ${files}words='${nextWords(path, commands).join(' ')}' ;;`
  })
}

function valueCases(commands: readonly Command[]): readonly string[] {
  const options = new Map(commands.flatMap(optionsOf).map((option) => [option.name, option]))
  return [...options.values()]
    .filter(({ type }) => type !== 'boolean')
    .map((option) => `    --${option.name}) ${replyFor(option)}; return ;;`)
}

function replyFor(option: Option): string {
  const { words, path } = formsOf(option)
  const lists = [
    ...(words.length === 0 ? [] : [`-W '${words.join(' ')}'`]),
    ...(path === undefined ? [] : [path === 'DIR' ? '-d' : '-f']),
  ]
  const asFiles = path === undefined ? '' : 'compopt -o filenames 2>/dev/null; '
  return `${asFiles}COMPREPLY=( ${lists.map((list) => `$(compgen ${list} -- "$cur")`).join(' ')} )`
}
