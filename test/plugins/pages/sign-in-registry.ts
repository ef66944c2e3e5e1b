import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import type { Entry } from 'sallyport'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import { contextFor, recordedLog, serving } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { closedPort, opened } from '#kit/listening.js'
import { PAGES, type RealPeople, realIssuer } from '#kit/oidc-provider.js'
import type { Identity } from '#kit/tls.js'
import { server } from '../registry/registry.js'

export const KEY = Buffer.alloc(32, 7).toString('base64')

interface Wanted {
  readonly people?: Omit<RealPeople, 'redirectUri'>
  readonly signIn?: object
  readonly oauth?: object
  readonly plugins?: readonly Entry[]
  /** People reach it by https, at a proxy in front of it. */
  readonly tls?: Identity
  readonly issuerTls?: Identity
  readonly provider?: object
}

/** A TLS port before a plain one. */
async function terminated(t: TestContext, identity: Identity, address: string): Promise<string> {
  const { hostname, port } = new URL(`http://${address}`)
  const server = createTlsServer(identity, (socket) => {
    const inner = connect(Number(port), hostname)
    socket.pipe(inner).pipe(socket)
    for (const [one, other] of [
      [socket, inner],
      [inner, socket],
    ] as const)
      one.on('error', () => other.destroy())
  })
  const opening = await opened(t, server)
  return `https://localhost:${opening.port}`
}

/** A registry on a real port whose pages people sign in to at a real issuer. */
export async function signInRegistry(t: TestContext, wanted: Wanted = {}) {
  const { people, signIn, oauth, plugins = [], tls, issuerTls } = wanted
  const address = new URL(await closedPort()).host
  const origin = tls === undefined ? `http://${address}` : await terminated(t, tls, address)
  const issuer = await realIssuer(t, {
    people: { redirectUri: `${origin}/sign-in/callback`, ...people },
    ...(issuerTls !== undefined && { tls: issuerTls }),
  })
  const home = folder(t, {
    'servers.json': JSON.stringify([server('a.example/one', '1.0.0'), server('b.example/two', '1.0.0')]),
    'cookie.key': KEY,
  })
  const provider = {
    name: 'corp',
    issuerUrl: issuer.url,
    audience: issuer.audience,
    allowPrivateIP: true,
    ...wanted.provider,
  }
  const settings = RegistrySettings.parse({
    address,
    internalAddress: '127.0.0.1:0',
    auth: {
      oauth: {
        resourceUrl: origin,
        publicPaths: ['/registry/open'],
        providers: [provider],
        signIn: { ...PAGES, cookieKeyFile: './cookie.key', ...signIn },
        ...oauth,
      },
    },
    sources: [{ name: 'own', file: { path: './servers.json' } }],
    registries: ['default', 'open'].map((name) => ({ name, sources: ['own'] })),
    stateDirectory: null,
  })
  const list = [...registry(settings), ...plugins]
  const { log, lines, scrubber } = recordedLog()
  const running = await serving(t, list, { folder: home, log, scrubber })
  const reload = () => running.swap(list, contextFor({ folder: home, log, scrubber }))
  /** Another gateway with the same settings, as a replica behind the same name would be. */
  const replica = async (key?: string) => {
    if (key !== undefined) writeFileSync(join(home, 'other.key'), key)
    const others = list.map((entry) => {
      if (!('use' in entry)) return entry
      if (entry.use === 'listen/http') return { ...entry, with: { address: '127.0.0.1:0' } }
      if (entry.use !== 'pages/sign-in' || key === undefined) return entry
      return { ...entry, with: { ...(entry.with as object), cookieKeyFile: './other.key' } }
    })
    const { addresses } = await serving(t, others, { folder: home })
    return String(addresses.main)
  }
  return { origin, issuer, lines, reload, replica, internal: String(running.addresses.internal) }
}
