import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { commands } from '#cli/commands/index.js'
import { completionScript } from '#cli/line/completion/script.js'
import { folder } from '#kit/folder.js'

function has(shell: string): boolean {
  return spawnSync(shell, ['-c', 'true']).status === 0
}

/** What bash would offer for the last of these words. */
function offered(words: readonly string[], cwd: string): readonly string[] {
  const script = `${completionScript('bash', commands)}
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
_sallyport
printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8', cwd })
  assert.equal(stderr, '')
  return stdout.split('\n').filter((line) => line !== '')
}

test('bash completes commands, flags, choices and files', { skip: !has('bash') }, (t) => {
  const cwd = folder(t, { 'registry.yaml': '' })

  assert.deepEqual(offered(['sallyport', 'reg'], cwd), ['registry'])
  assert.deepEqual(offered(['sallyport', 'registry', '--auth-m'], cwd), ['--auth-mode'])
  assert.deepEqual(offered(['sallyport', 'registry', '--auth-mode', 'a'], cwd), ['anonymous'])
  assert.deepEqual(offered(['sallyport', 'registry', '--auth-mode', '=', 'a'], cwd), ['anonymous'])
  assert.deepEqual(offered(['sallyport', 'registry', '--auth-mode', '='], cwd), ['oauth', 'anonymous'])
  assert.deepEqual(offered(['sallyport', 'registry', '--config', 'reg'], cwd), ['registry.yaml'])
  assert.deepEqual(offered(['sallyport', 'completion', ''], cwd), ['bash', 'zsh', 'fish'])
  assert.deepEqual(offered(['sallyport', 'plugin', ''], cwd), ['new', 'verify'])
  assert.deepEqual(offered(['sallyport', 'plugin', 'new', '--ki'], cwd), ['--kind'])
  for (const command of ['validate', 'tail', 'plugin verify'])
    assert.deepEqual(offered(['sallyport', ...command.split(' '), 'reg'], cwd), ['registry.yaml'])
})

test("bash completes a third party's plugin by its file", { skip: !has('bash') }, (t) => {
  const cwd = folder(t, { 'plugin.mjs': '' })

  for (const command of ['registry', 'proxy', 'run'])
    assert.deepEqual(offered(['sallyport', command, '--plugin', './pl'], cwd), ['./plugin.mjs'])
  const tunnel = ['sallyport', 'proxy', 'tunnel', '--tunnel-provider']
  assert.deepEqual(offered([...tunnel, './pl'], cwd), ['./plugin.mjs'])
  assert.deepEqual(offered([...tunnel, ''], cwd), ['ssh', 'command', 'plugin.mjs'])
})

test('bash knows the command after flags, and in the name of the program', { skip: !has('bash') }, (t) => {
  const cwd = folder(t)

  assert.deepEqual(offered(['sallyport', '--config', 'proxy', 'registry', '--auth'], cwd), ['--auth-mode'])
  assert.deepEqual(offered(['/usr/bin/sallyport-proxy', 'name', '--target-u'], cwd), ['--target-uri'])
  assert.deepEqual(offered(['sallyport', '--config', '=', 'proxy', 'registry', '--auth'], cwd), [
    '--auth-mode',
  ])
})

for (const shell of ['bash', 'zsh', 'fish']) {
  test(`${shell} can read its script`, { skip: !has(shell) }, (t) => {
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
