import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { sshArguments } from '#plugins/tunnel/ssh/arguments.js'
import { options } from '#plugins/tunnel/ssh/options.js'
import { noSshd } from '../sshd.js'

test('no ssh configuration of the user keeps the tunnel from opening', { skip: noSshd }, (t) => {
  const lines = [
    'ClearAllForwardings yes',
    'ControlMaster auto',
    'ForkAfterAuthentication yes',
    'RemoteCommand x',
  ]
  const config = join(folder(t, { config: `Host *\n${lines.join('\n')}\n` }), 'config')
  const argv = sshArguments(
    options.parse({ destination: 'me@server.example' }),
    new URL('http://127.0.0.1:8080'),
    9000,
  )

  // The settings that ssh uses, from its configuration and these arguments.
  const effective = execFileSync('ssh', ['-F', config, '-G', ...argv], { encoding: 'utf8' }).split('\n')
  for (const line of [
    'remoteforward [127.0.0.1]:9000 [127.0.0.1]:8080',
    'clearallforwardings no',
    'controlmaster false',
    'forkafterauthentication no',
  ])
    assert.ok(effective.includes(line), line)
  assert.ok(!effective.some((line) => line.startsWith('remotecommand')))
})
