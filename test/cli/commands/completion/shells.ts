import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { completionScript } from '#cli/commands/completion/run.js'
import { commands } from '#cli/commands/index.js'
import { folder } from '#kit/folder.js'

export type Shell = 'bash' | 'zsh' | 'fish'

export const hasShell = (shell: Shell): boolean => spawnSync(shell, ['-c', 'true']).status === 0

/** What a shell offers for the last word of a line, in a folder with these files. */
export function completing(t: TestContext, shell: Shell, files: readonly string[]) {
  const cwd = folder(t, Object.fromEntries(files.map((file) => [file, ''])))
  const { before = [], ask, args } = asking[shell]
  const script = [...before, completionScript(shell, commands), ask].join('\n')
  const home = folder(t, { script, '.zshrc': script })
  const env = { PATH: process.env['PATH'], HOME: home, ZDOTDIR: home, TERM: 'dumb' }
  return (line: string): readonly string[] => {
    const { stdout, stderr, signal } = spawnSync(shell, args(join(home, 'script'), line), {
      cwd,
      encoding: 'utf8',
      timeout: 20_000,
      env,
    })
    assert.deepEqual({ stderr, signal }, { stderr: '', signal: null })
    return stdout.split(/\r?\n/).flatMap(offerIn).sort()
  }
}

/** Fish repeats the flag, and says what a word means. */
function offerIn(line: string): readonly string[] {
  const offer = /^offer:(?:--[\w-]+=)?([^\t]+)/.exec(line)?.[1]
  return offer === undefined ? [] : [offer]
}

interface Asking {
  /** What has to come before the completions. */
  readonly before?: readonly string[]
  /** What follows the completions in the script. */
  readonly ask: string
  args(script: string, line: string): readonly string[]
}

const asking: Readonly<Record<Shell, Asking>> = {
  bash: {
    ask: `COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
_sallyport
[[ \${#COMPREPLY[@]} == 0 ]] || printf 'offer:%s\\n' "\${COMPREPLY[@]}"`,
    // It splits at equals signs, too.
    args: (script, line) => [
      script,
      ...line.split(' ').flatMap((word) => word.split(/(?<=^--[\w-]+)(?==)|(?<==)/)),
    ],
  },
  fish: {
    ask: 'for offer in (complete -C $argv[1]); echo offer:$offer; end',
    args: (script, line) => ['--no-config', script, line],
  },
  // zsh completes only at a terminal.
  zsh: {
    before: ['autoload -Uz compinit && compinit -u'],
    ask: `compadd() {
  local -a found
  # With one of these it fills arrays, and offers nothing.
  if (( \${@[(I)-[OAD]]} )); then builtin compadd "$@"; return; fi
  builtin compadd -O found "$@"
  [[ -n $found ]] && print -rl -- '' offer:$^found
  builtin compadd "$@"
}
zle -C offer complete-word _main_complete
offer-and-exit() { zle offer; exit }
zle -N offer-and-exit
bindkey '^I' offer-and-exit`,
    args: (_script, line) => ['-f', '-c', IN_TERMINAL, 'zsh', line],
  },
}

const IN_TERMINAL = `zmodload zsh/zpty
zpty asked zsh -i
zpty -w -n asked "$1"$'\\t'
while zpty -r asked; do :; done`
