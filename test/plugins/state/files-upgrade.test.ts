import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { startedProgram } from '#kit/started-program.js'
import { proxyWithLogin } from '../credential/oauth/proxy-with-login.js'
import { call, send } from '../forward/proxied.js'
import { storing } from './storing.js'

// The files of `format-1` are those of version 0.1.0 and must not change: users who upgrade have such files.
const TARGET = 'http://127.0.0.1:9/mcp'
const KINDS = { plain: {}, passphrase: { SALLYPORT_STATE_PASSPHRASE: 'open sesame' } }

for (const [kind, environment] of Object.entries(KINDS)) {
  test(`files of an earlier version, ${kind}, are read: values, login and client`, async (t) => {
    const state = folder(t)
    const directory = join(state, 'sallyport')
    cpSync(join(import.meta.dirname, 'format-1', kind), directory, { recursive: true })
    const before = { ...process.env }
    Object.assign(process.env, environment)
    t.after(() => {
      process.env = before
    })

    const { store } = await storing(t, [{ use: 'state/files', with: { directory } }])
    assert.equal(await store.get(`oauth/binding/mine/${TARGET}`), 'http://127.0.0.1:9')
    assert.deepEqual(
      (await store.keys('oauth/')).map((key) => key.split('/')[1]),
      ['binding', 'client', 'session'],
    )

    // Nothing listens there: with the stored token the request fails to connect, and without one a login would begin.
    const { main, lines } = await proxyWithLogin(t, TARGET, { login: 'start' }, { directory })
    assert.equal((await send(main, call(1))).status, 502)
    const messages = lines.map(({ msg }) => String(msg))
    assert.ok(
      !messages.some((msg) => /signing in|unknown format|cannot be used/.test(msg)),
      messages.join('\n'),
    )

    const { output, ended } = startedProgram(t, ['auth', 'list'], {
      environment: { XDG_STATE_HOME: state, ...environment },
    })
    assert.equal(await ended(), 0)
    assert.equal(
      output.stdout,
      `${TARGET}: client registered at http://127.0.0.1:9, scopes read, renewed by itself\n`,
    )
  })
}

test('values from before there was a passphrase are refused by the proxy, until `auth seal` encrypts them', async (t) => {
  const state = folder(t)
  const directory = join(state, 'sallyport')
  cpSync(join(import.meta.dirname, 'format-1', 'plain'), directory, { recursive: true })
  const environment = { XDG_STATE_HOME: state, ...KINDS.passphrase }
  const run = async (...argv: string[]) => {
    const { output, ended } = startedProgram(t, argv, { environment })
    return { code: await ended(), ...output }
  }
  const proxy = ['proxy', 'mine', `--target-uri=${TARGET}`, '--remote-auth', '--remote-auth-skip-browser']

  const [started, listed, keyless] = await Promise.all([
    run(...proxy),
    run('auth', 'list'),
    startedProgram(t, ['auth', 'seal'], { environment: { XDG_STATE_HOME: state } }).ended(),
  ])
  assert.deepEqual([started.code, started.stdout], [1, ''])
  for (const { stderr } of [started, listed]) assert.match(stderr, /not encrypted.*sallyport auth seal/)
  assert.equal(keyless, 2)

  const line = `${TARGET}: client registered at http://127.0.0.1:9, scopes read, renewed by itself\n`
  assert.deepEqual(await run('auth', 'seal'), { code: 0, stdout: line, stderr: '' })
  assert.deepEqual(await run('auth', 'list'), { code: 0, stdout: line, stderr: '' })
  const { store } = await storing(t, [{ use: 'state/files', with: { directory, passphrase: 'open sesame' } }])
  assert.equal(await store.get(`oauth/binding/mine/${TARGET}`), 'http://127.0.0.1:9')
})
