import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { freePort } from '#kit/free-port.js'
import { descendants } from './processes.js'

const SSHD = '/usr/sbin/sshd'

/** Why no real sshd can run here, for `skip`; `false` if it can. */
export const noSshd =
  existsSync(SSHD) && hasPlaceOfPrivilege() ? false : 'no sshd is installed on this machine'

/** As root sshd needs an empty folder, which the system makes at its start and a container may lack. */
function hasPlaceOfPrivilege(): boolean {
  if (process.getuid?.() !== 0) return true
  try {
    mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
    return true
  } catch {
    return false
  }
}

export interface Sshd {
  readonly port: number
  readonly identity: string
  readonly knownHosts: string
  /** A key that the server does not accept, and a known_hosts file with another key than the server's. */
  readonly otherIdentity: string
  readonly otherKnownHosts: string
  readonly user: string
  start(): Promise<void>
  /** Ends the server and every session of it, as a machine that goes down does. */
  kill(): Promise<void>
}

/** A real sshd on loopback, with keys and a configuration of its own. Killed when the test ends. */
export async function sshd(t: TestContext, more: readonly string[] = []): Promise<Sshd> {
  const home = folder(t)
  for (const name of ['host', 'identity', 'other']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(home, name)])
  }
  const keyOf = (name: string): string =>
    readFileSync(join(home, `${name}.pub`), 'utf8')
      .split(' ')
      .slice(0, 2)
      .join(' ')
  const port = await freePort()
  writeFileSync(join(home, 'authorized'), keyOf('identity'))
  // A folder whose name has to be quoted.
  const own = join(home, 'my own')
  mkdirSync(own)
  writeFileSync(join(own, 'identity'), readFileSync(join(home, 'identity')), { mode: 0o600 })
  writeFileSync(join(own, 'known'), `[127.0.0.1]:${port} ${keyOf('host')}\n`)
  writeFileSync(join(home, 'otherKnown'), `[127.0.0.1]:${port} ${keyOf('other')}\n`)
  writeFileSync(
    join(home, 'config'),
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      'AddressFamily inet',
      `HostKey ${join(home, 'host')}`,
      `AuthorizedKeysFile ${join(home, 'authorized')}`,
      'PidFile none',
      'UsePAM no',
      'StrictModes no',
      'PermitRootLogin prohibit-password',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      ...more,
    ].join('\n'),
  )
  let server: ChildProcess | undefined
  const kill = async (): Promise<void> => {
    if (server?.pid === undefined) return
    const gone = once(server, 'exit')
    for (const pid of [server.pid, ...descendants(server.pid)]) process.kill(pid, 'SIGKILL')
    server = undefined
    await gone
  }
  const start = async (): Promise<void> => {
    server = spawn(SSHD, ['-D', '-e', '-f', join(home, 'config')], { stdio: 'ignore' })
    await eventually(() => answers(port))
  }
  t.after(kill)
  await start()
  return {
    port,
    identity: join(own, 'identity'),
    knownHosts: join(own, 'known'),
    otherIdentity: join(home, 'other'),
    otherKnownHosts: join(home, 'otherKnown'),
    user: userInfo().username,
    start,
    kill,
  }
}

async function answers(port: number): Promise<true | undefined> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'data')
    return true
  } catch {
    return undefined
  } finally {
    socket.destroy()
  }
}

/** The settings, and the flags, that lead to it. */
export const settingsFor = ({ user, port, identity, knownHosts }: Sshd) => ({
  tunnelProvider: 'ssh',
  tunnelSshDestination: `${user}@127.0.0.1`,
  tunnelSshPort: port,
  tunnelSshIdentity: identity,
  tunnelSshKnownHosts: knownHosts,
})

export const flagsFor = (server: Sshd): string[] => {
  const { tunnelSshDestination, tunnelSshPort, tunnelSshIdentity, tunnelSshKnownHosts } = settingsFor(server)
  return [
    '--tunnel-provider=ssh',
    `--tunnel-ssh-destination=${tunnelSshDestination}`,
    `--tunnel-ssh-port=${tunnelSshPort}`,
    `--tunnel-ssh-identity=${tunnelSshIdentity}`,
    `--tunnel-ssh-known-hosts=${tunnelSshKnownHosts}`,
  ]
}
