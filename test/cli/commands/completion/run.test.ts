import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { completionScript } from '#cli/commands/completion/run.js'
import { commands } from '#cli/commands/index.js'
import { folder } from '#kit/folder.js'
import { completing, hasShell, type Shell } from './shells.js'

const offers: readonly (readonly [line: string, words: readonly string[]])[] = [
  ['sallyport reg', ['registry']],
  ['sallyport registry --auth-m', ['--auth-mode']],
  ['sallyport registry --auth-mode a', ['anonymous']],
  ['sallyport registry --auth-mode=a', ['anonymous']],
  ['sallyport registry --auth-mode=', ['anonymous', 'oauth']],
  ['sallyport registry --config reg', ['registry.yaml']],
  ['sallyport completion ', ['bash', 'fish', 'zsh']],
  ['sallyport plugin ', ['new', 'verify']],
  ['sallyport plugin new --ki', ['--kind']],
  ['sallyport validate reg', ['registry.yaml']],
  ['sallyport tail reg', ['registry.yaml']],
  ['sallyport plugin verify reg', ['registry.yaml']],
  ['sallyport run --plugin pl', ['plugin.mjs']],
  ['sallyport proxy --plugin pl', ['plugin.mjs']],
  ['sallyport proxy tunnel --tunnel-provider pl', ['plugin.mjs']],
  ['sallyport proxy tunnel --tunnel-provider ', ['command', 'plugin.mjs', 'registry.yaml', 'ssh']],
  ['sallyport --config proxy registry --auth', ['--auth-mode']],
  ['sallyport --config=proxy registry --auth', ['--auth-mode']],
  ['sallyport-proxy name --target-u', ['--target-uri']],
]

const shells: readonly Shell[] = ['bash', 'zsh', 'fish']

for (const shell of shells) {
  test(`${shell} completes commands, flags, choices and files`, { skip: !hasShell(shell) }, (t) => {
    const offered = completing(t, shell, ['plugin.mjs', 'registry.yaml'])
    for (const [line, words] of offers) assert.deepEqual(offered(line), words, line)
  })

  test(`${shell} parses its script`, { skip: !hasShell(shell) }, (t) => {
    const cwd = folder(t, { script: completionScript(shell, commands) })

    assert.equal(spawnSync(shell, ['-n', 'script'], { cwd }).stderr.toString(), '')
  })

  test(`the script for ${shell} names every command and every flag`, () => {
    const script = completionScript(shell, commands)

    for (const { name, groups } of commands) {
      assert.ok(script.includes(name))
      for (const option of groups.flatMap((group) => group.options)) assert.ok(script.includes(option.name))
    }
  })
}
