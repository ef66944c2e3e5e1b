import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { keyring, noKeyring } from '#kit/keyring.js'
import { startedProgram } from '#kit/started-program.js'
import { startAuthorizationServer } from '../../../plugins/credential/oauth/authorization-server.js'
import { textIn } from '../../../plugins/state/stored.js'

const skip = noKeyring ?? (process.platform === 'linux' ? false : 'the tests bring a keyring for Linux alone')

/** What is mapped into a process, native modules among it. */
const loadsKeyring = (pid = 0): boolean => readFileSync(`/proc/${pid}/maps`, 'utf8').includes('/keyring.')

test('a login is encrypted with a key in the keyring; without a keyring a line says so, and nothing is lost', {
  skip,
}, async (t) => {
  const own = await keyring(folder(t))
  t.after(() => own.close())
  const server = await startAuthorizationServer(t)
  const state = folder(t)
  const there = { XDG_STATE_HOME: state, ...own.environment }
  const gone = { XDG_STATE_HOME: state }
  const login = ['--remote-auth', '--remote-auth-skip-browser', '--remote-auth-callback-port=0']
  const argv = ['proxy', 'mine', `--target-uri=${server.target}`]

  const signed = startedProgram(t, [...argv, ...login], { environment: there, patience: 30 })
  const url = await signed.ready()
  await fetch(await signed.until(/(?<=^Open this URL to sign in: )\S+$/m))
  assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 200)
  assert.ok(loadsKeyring(signed.process.pid))
  assert.doesNotMatch(signed.output.stderr, /not encrypted/)
  signed.stop()
  assert.equal(await signed.ended(), 0)
  assert.equal(own.entries().size, 1)

  const kept = () => textIn(join(state, 'sallyport'))
  const before = kept()
  assert.doesNotMatch(before, /access|refresh|127\.0\.0\.1/)

  const run = async (environment: Readonly<Record<string, string>>, ...words: string[]) => {
    const { output, ended } = startedProgram(t, words, { environment })
    return { code: await ended(), ...output }
  }
  const [refused, unread, listed] = await Promise.all([
    run(gone, ...argv, ...login),
    run(gone, 'auth', 'list'),
    run(there, 'auth', 'list'),
  ])
  assert.match(refused.stderr, /there is no keyring on this machine, or it is locked.*auth logout all/)
  assert.deepEqual([refused.code, refused.stdout], [1, ''])
  assert.match(unread.stderr, /^auth list: .*keyring.*auth logout all/)
  assert.equal(unread.code, 2)
  assert.match(listed.stdout, /renewed by itself/, listed.stderr)
  assert.equal(kept(), before)
  assert.equal(server.times('/authorize'), 1)

  assert.equal((await run(gone, 'auth', 'logout', 'all')).code, 0)
  assert.equal((await run(gone, 'auth', 'list')).stdout, '')
})

test('a proxy that signs in nowhere never loads the keyring', { skip }, async (t) => {
  const server = await startAuthorizationServer(t)
  const plain = startedProgram(t, ['proxy', 'mine', `--target-uri=${server.target}`])
  await fetch(await plain.ready(), { method: 'POST', body: '{}' })
  assert.ok(!loadsKeyring(plain.process.pid))
})
