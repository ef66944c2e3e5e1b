import { join } from 'node:path'
import { announced, type Contestant } from '../contestant.js'
import { EVERY } from '../cores.js'
import { bin } from '../place.js'
import type { Incoming, ProxyKind, Task } from '../task.js'

const servers = join(import.meta.dirname, '../servers')

/** The least that a proxy of this runtime can do: see its file. */
export const floor: ProxyKind = {
  name: 'runtime floor',
  can: () => true,
  start({ target }) {
    return announced(this.name, [join(servers, 'floor.mjs'), `http://127.0.0.1:${target}/mcp`])
  },
}

export const sallyport: ProxyKind = {
  name: 'Sallyport',
  can: () => true,
  start(task) {
    return announced(this.name, proxyArguments(task))
  },
}

/** Sallyport in so many processes, on whatever cores there are. */
export const inProcesses = (task: Task, count: number): Promise<Contestant> =>
  announced(`--workers ${count}`, [...proxyArguments(task), `--workers=${count}`], { core: EVERY })

function proxyArguments({ target, incoming, bearer, headers, exchange }: Task): string[] {
  const flags = [`--target-uri=http://127.0.0.1:${target}/mcp`]
  if (incoming !== undefined) flags.push(...incomingFlags(incoming))
  if (bearer !== undefined) flags.push(`--remote-auth-bearer-token=${bearer}`)
  for (const [name, value] of Object.entries(headers)) flags.push(`--remote-forward-headers=${name}=${value}`)
  if (exchange === true && incoming !== undefined) {
    const url = `${incoming.issuer.origin}/token`
    flags.push(`--token-exchange-url=${url}`, '--token-exchange-allow-private-ip')
  }
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
