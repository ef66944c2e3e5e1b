import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const PROGRAMS = ['dbus-run-session', 'dbus-send', 'gnome-keyring-daemon', 'secret-tool']

/** Why a test cannot have a keyring of its own; undefined when it can. */
export const noKeyring: string | undefined = (() => {
  const missing = PROGRAMS.filter((name) => spawnSync('which', [name]).status !== 0)
  return missing.length === 0 ? undefined : `${missing.join(', ')} not installed`
})()

export interface TestKeyring {
  /** The variables by which a process finds it. */
  readonly environment: Readonly<Record<'DBUS_SESSION_BUS_ADDRESS', string>>
  /** The secrets in it by name. */
  entries(): ReadonlyMap<string, string>
  remove(name: string): void
  /** Locks it for the rest of the test. */
  lock(): void
  close(): Promise<void>
}

/** A real keyring daemon on a bus of its own, unlocked, with its files in this folder. */
export async function keyring(home: string): Promise<TestKeyring> {
  const unlocked = 'printf password | gnome-keyring-daemon --unlock --components=secrets >&2'
  const script = `${unlocked} && echo "$DBUS_SESSION_BUS_ADDRESS" && cat`
  const own = { PATH: process.env['PATH'], HOME: home, XDG_RUNTIME_DIR: home }
  const session = spawn('dbus-run-session', ['--', 'sh', '-c', script], {
    env: own,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const ended = once(session, 'exit')
  const [address = '']: string[] = await once(createInterface({ input: session.stdout }), 'line')
  const environment = { DBUS_SESSION_BUS_ADDRESS: address }
  const run = (program: string, ...argv: string[]) => {
    const env = { ...own, ...environment }
    const { status, stdout, stderr } = spawnSync(program, argv, { env, encoding: 'utf8' })
    return { status, stdout, stderr }
  }
  const done = (program: string, ...argv: string[]): void => {
    const { status, stderr } = run(program, ...argv)
    assert.equal(status, 0, stderr)
  }

  return {
    environment,
    entries() {
      const { stdout, stderr } = run('secret-tool', 'search', '--all', 'service', 'sallyport')
      const values = [...stdout.matchAll(/^secret = (.*)$/gm)].map(([, value = '']) => value)
      const names = [...stderr.matchAll(/^attribute\.username = (.*)$/gm)].map(([, name = '']) => name)
      return new Map(names.map((name, at) => [name, values[at] ?? '']))
    },
    remove: (name) => done('secret-tool', 'clear', 'service', 'sallyport', 'username', name),
    lock() {
      const call = ['/org/freedesktop/secrets', 'org.freedesktop.Secret.Service.Lock']
      const login = 'array:objpath:/org/freedesktop/secrets/collection/login'
      done('dbus-send', '--session', '--print-reply', '--dest=org.freedesktop.secrets', ...call, login)
    },
    async close() {
      // The session ends when its program ends, and stops the bus.
      session.stdin.end()
      await ended
    },
  }
}
