import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { twoFreePorts } from '#kit/free-port.js'
import { Issuer } from '#kit/issuer.js'
import { type Contestant, startAnnounced } from '../bench/contestant.js'
import { LOAD_CORE } from '../bench/cores.js'

/** A server under test, with its internal port and that of its inspector. */
export interface Served extends Contestant {
  readonly internal: number
  readonly inspector: number
}

/** All servers of a soak. */
export interface Stage {
  readonly issuer: Issuer
  readonly proxy: Served
  readonly registry: Served
  /** The file to which the proxy's stderr goes. */
  readonly proxyLog: string
  /** Writes the file of servers that the registry serves. */
  writeServers(edition: number): void
  target(): Contestant
  /** Kills the target, and starts another on its port after so many milliseconds. */
  restartTarget(milliseconds: number): Promise<void>
  /** Stops all servers, and returns a message for each that did not end with 0. */
  close(): Promise<readonly string[]>
}

export const SERVERS = 2_000
const script = join(import.meta.dirname, 'target.ts')

export async function createStage(bin: string): Promise<Stage> {
  const home = mkdtempSync(join(tmpdir(), 'sallyport-soak-'))
  process.once('exit', () => rmSync(home, { recursive: true, force: true }))
  const issuer = new Issuer('', 'ES256')
  const issuing = createServer(issuer.listener).listen(0, '127.0.0.1')
  await once(issuing, 'listening')
  issuer.origin = `http://127.0.0.1:${(issuing.address() as AddressInfo).port}`
  await issuer.rotate('first')

  const writeServers = (edition: number): void => {
    const servers = Array.from({ length: SERVERS }, (_, index) => documentOf(index, edition))
    writeFileSync(join(home, 'servers.json'), JSON.stringify(servers))
  }
  writeServers(0)
  let target = await startTarget(0)
  const proxyLog = join(home, 'proxy.log')
  const log = openSync(proxyLog, 'a')
  const proxy = await startProxy(bin, home, issuer, target.port, log)
  closeSync(log)
  const registry = await startRegistry(bin, home, issuer)
  return {
    issuer,
    proxy,
    registry,
    proxyLog,
    writeServers,
    target: () => target,
    async restartTarget(milliseconds) {
      const { port } = target
      await target.stop('SIGKILL')
      await pause(milliseconds)
      target = await startTarget(port)
    },
    async close() {
      const codes = await Promise.all(
        [proxy, registry].map(async (one) => [one.name, await one.stop()] as const),
      )
      await target.stop()
      issuing.closeAllConnections()
      issuing.close()
      return codes
        .filter(([, code]) => code !== 0)
        .map(([name, code]) => `the ${name} ended with ${code ?? 'SIGKILL'} after SIGTERM`)
    },
  }
}

const documentOf = (index: number, edition: number): object => ({
  name: `com.example/server-${index}`,
  description: `a server of the soak, edition ${edition}`,
  version: '1.0.0',
  remotes: [{ type: 'streamable-http', url: `https://mcp-${index}.example.com/mcp` }],
})

function startTarget(port: number): Promise<Contestant> {
  return startAnnounced('target', ['-C', 'source', '--import', 'tsx', script, String(port)], {
    core: LOAD_CORE,
  })
}

async function startProxy(
  bin: string,
  home: string,
  issuer: Issuer,
  target: number,
  stderr: number,
): Promise<Served> {
  const [internal, inspector] = await twoFreePorts()
  const bearer = join(home, 'bearer')
  writeFileSync(bearer, 'soak', { mode: 0o600 })
  const argv = [
    ...[
      `--inspect=127.0.0.1:${inspector}`,
      bin,
      'proxy',
      'soak',
      `--target-uri=http://127.0.0.1:${target}/mcp`,
    ],
    `--internal-address=127.0.0.1:${internal}`,
    `--oidc-issuer=${issuer.url}`,
    `--oidc-audience=${issuer.audience}`,
    '--oidc-allow-private-ip',
    `--remote-auth-bearer-token-file=${bearer}`,
    '--remote-forward-headers=X-A=1',
  ]
  const running = await startAnnounced('proxy', argv, { stderr })
  return { ...running, internal, inspector }
}

async function startRegistry(bin: string, home: string, issuer: Issuer): Promise<Served> {
  const [internal, inspector] = await twoFreePorts()
  const file = join(home, 'registry.json')
  const { name, issuerUrl, audience, allowPrivateIP } = issuer.provider
  const settings = {
    address: '127.0.0.1:0',
    internalAddress: `127.0.0.1:${internal}`,
    stateDirectory: null,
    auth: {
      oauth: {
        resourceUrl: 'http://127.0.0.1/',
        providers: [{ name, issuerUrl, audience, allowPrivateIP }],
      },
    },
    sources: [{ name: 'own', file: { path: './servers.json' } }],
    registries: [{ name: 'default', sources: ['own'] }],
  }
  writeFileSync(file, JSON.stringify(settings))
  const argv = [`--inspect=127.0.0.1:${inspector}`, bin, 'registry', '--config', file]
  const running = await startAnnounced('registry', argv)
  // It is not ready until its first sync.
  while ((await fetch(`http://127.0.0.1:${internal}/readiness`)).status !== 200) await pause(50)
  return { ...running, internal, inspector }
}
