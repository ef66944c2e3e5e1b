import { join } from 'node:path'
import { bin } from '#kit/started-program.js'
import { type Contestant, startAnnounced } from '../contestant.js'
import { ALL_CORES } from '../cores.js'
import type { Incoming, ProxyKind, Task } from '../task.js'

const servers = join(import.meta.dirname, '../servers')

/** The least that a proxy on Node can do: see `servers/floor.mjs`. */
export const floor: ProxyKind = {
  name: 'runtime floor',
  can: () => true,
  start({ target, tls }) {
    const secure = tls === undefined ? [] : [tls.cert, tls.key]
    return startAnnounced(this.name, [
      join(servers, 'floor.mjs'),
      `http://127.0.0.1:${target}/mcp`,
      ...secure,
    ])
  },
}

export const sallyport: ProxyKind = {
  name: 'Sallyport',
  can: () => true,
  start(task) {
    return startAnnounced(this.name, proxyArguments(task))
  },
}

/** Sallyport in so many processes, on all cores. */
export const inProcesses = (task: Task, count: number): Promise<Contestant> =>
  startAnnounced(`--workers ${count}`, [...proxyArguments(task), `--workers=${count}`], { core: ALL_CORES })

/** Sallyport that logs these requests. */
export const withAccessLog = (task: Task, requests: 'off' | 'errors' | 'all'): Promise<Contestant> =>
  startAnnounced(`--access-log ${requests}`, [...proxyArguments(task), `--access-log=${requests}`])

/** Sallyport with a configuration file in addition. */
export const withFile = (task: Task, name: string, file: string): Promise<Contestant> =>
  startAnnounced(name, [...proxyArguments(task), `--config=${file}`])

function proxyArguments({ target, incoming, bearer, headers, exchange, tls }: Task): string[] {
  const flags = [`--target-uri=http://127.0.0.1:${target}/mcp`]
  if (incoming !== undefined) flags.push(...incomingFlags(incoming))
  if (bearer !== undefined) flags.push(`--remote-auth-bearer-token=${bearer}`)
  for (const [name, value] of Object.entries(headers)) flags.push(`--remote-forward-headers=${name}=${value}`)
  if (exchange === true && incoming !== undefined) {
    const url = `${incoming.issuer.origin}/token`
    flags.push(`--token-exchange-url=${url}`, '--token-exchange-allow-private-ip')
  }
  if (tls !== undefined) flags.push(`--tls-cert=${tls.cert}`, `--tls-key=${tls.key}`)
  return [bin, 'proxy', 'bench', ...flags]
}

function incomingFlags(incoming: Incoming): readonly string[] {
  const { issuer, kind } = incoming
  const flags = [
    `--oidc-issuer=${issuer.url}`,
    `--oidc-audience=${issuer.audience}`,
    '--oidc-allow-private-ip',
  ]
  const introspection = [
    `--oidc-introspection-url=${issuer.introspectionUrl}`,
    '--oidc-client-id=bench',
    '--oidc-client-secret=bench',
  ]
  return kind === 'jwt' ? flags : [...flags, ...introspection]
}
