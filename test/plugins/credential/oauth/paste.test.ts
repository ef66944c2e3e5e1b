import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { noTerminal, onTerminal } from '#kit/spawned.js'
import { bin } from '#kit/started-program.js'
import { type AuthorizationServer, startAuthorizationServer } from './authorization-server.js'

/** A proxy on a real terminal, as over ssh. */
function proxyOnTerminal(t: TestContext, { target }: AuthorizationServer) {
  const login = ['--remote-auth', '--remote-auth-skip-browser', '--remote-auth-callback-port=0']
  const command = ['exec', process.execPath, bin, 'proxy', 'mine', `--target-uri=${target}`, ...login]
  const env = { PATH: process.env['PATH'], TERM: 'dumb', XDG_STATE_HOME: folder(t), SHELL: '/bin/sh' }
  const {
    process: child,
    output,
    closed,
  } = onTerminal(
    t,
    command.join(' '),
    env,
    // Not by the end of the terminal, which means a reload.
    ({ exitCode, stdin }) => exitCode === null && stdin?.write('\u0003'),
  )
  return {
    type: (keys: string) => child.stdin?.write(keys),
    until: (pattern: RegExp) =>
      eventually(() => pattern.exec(output.stdout)?.[0], 25).catch(() =>
        assert.fail(`${pattern} is not in ${output.stdout}`),
      ),
    ended: async () => (await closed)[0],
  }
}

const timeout = 60_000
const PAGE = /(?<=^Open this URL to sign in: )\S+/m
const WRONG = /This is not the callback URL of this sign-in\./g

test('on a terminal the callback URL of a browser on another machine can be pasted', {
  skip: noTerminal,
  timeout,
}, async (t) => {
  const server = await startAuthorizationServer(t)
  const terminal = proxyOnTerminal(t, server)
  const url = await terminal.until(/(?<=listening on )http:\/\/\S+/)
  const page = await terminal.until(PAGE)
  await terminal.until(/paste the URL that your browser ends up at/)

  // The browser is on another machine, where no server listens.
  const { headers } = await fetch(page, { redirect: 'manual' })
  // Longer than a line that a terminal reads by itself.
  const location = headers.get('location')?.replace('?', `?session_state=${'x'.repeat(6000)}&`) ?? ''
  for (const wrong of [
    'hello',
    location.replace(/&state=[^&]+/, '&state=other'),
    'https://elsewhere.example/?code=x',
  ]) {
    terminal.type(`${wrong}\r`)
  }
  await terminal.until(new RegExp(`(?:${WRONG.source}[\\s\\S]*){3}`))
  assert.equal(server.times('/token'), 0)

  terminal.type(`  ${location}\r`)
  const { status } = await fetch(url, { method: 'POST', body: '{}' })
  assert.deepEqual([status, server.times('/token')], [200, 1])
})

test('Ctrl-C ends the proxy while it waits for a pasted URL', { skip: noTerminal, timeout }, async (t) => {
  const terminal = proxyOnTerminal(t, await startAuthorizationServer(t))
  await terminal.until(/listening on/)
  await terminal.until(/paste the URL that your browser ends up at/)
  terminal.type('\u0003')
  assert.equal(await terminal.ended(), 0)
})
