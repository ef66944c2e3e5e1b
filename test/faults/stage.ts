import type { TestContext } from 'node:test'
import { startHaproxy } from '#kit/haproxy.js'
import { closedPort } from '#kit/listening.js'
import { PostgresCluster, type TestDatabase } from '#kit/postgres.js'
import { browse, realLogin } from '../plugins/credential/oauth/real-provider.js'
import { call, send } from '../plugins/forward/proxied.js'
import { migrate, Replica } from './replicas.js'
import { changingRegistry } from './upstream.js'

/** Three registries and two proxies over one database, with their source, balancer and login. */
export interface Stage {
  readonly cluster: PostgresCluster
  readonly database: TestDatabase
  readonly upstream: Awaited<ReturnType<typeof changingRegistry>>
  readonly registries: readonly Replica[]
  readonly proxies: readonly Replica[]
  readonly login: Awaited<ReturnType<typeof realLogin>>
  /** The URL of HAProxy. */
  readonly url: string
  readonly balancer: Awaited<ReturnType<typeof startHaproxy>>
}

/** @param directory of the database, instead of a temporary one */
export async function createStage(t: TestContext, directory?: string): Promise<Stage> {
  const cluster = new PostgresCluster(directory === undefined ? {} : { directory })
  const database = await cluster.database()
  await migrate(t, database.url)

  const upstream = await changingRegistry(t)
  const url = await closedPort()
  const registries = await startRegistries(t, database, upstream.url, url)
  const balancer = await startHaproxy(t, url, registries, { retries: 3 })

  const login = await realLogin(t, { life: 3600 })
  const proxies = await startProxies(t, database, login.target)
  return { cluster, database, upstream, registries, proxies, login, url, balancer }
}

export async function startRegistries(
  t: TestContext,
  { url }: TestDatabase,
  source: string,
  balancer: string,
): Promise<readonly Replica[]> {
  const replicas = await Promise.all(
    ['one', 'two', 'three'].map((name) => Replica.registry(t, name, source, balancer)),
  )
  for (const replica of replicas) {
    replica.useDatabase(url)
    replica.start()
  }
  for (const replica of replicas) await replica.ready()
  return replicas
}

/** Starts proxies: the first signs in, and the others use its login. */
export async function startProxies(
  t: TestContext,
  { url }: TestDatabase,
  target: string,
  names: readonly string[] = ['left', 'right'],
): Promise<readonly Replica[]> {
  const proxies = await Promise.all(names.map((name) => Replica.proxy(t, name, target)))
  for (const proxy of proxies) {
    proxy.useDatabase(url)
    const running = proxy.start()
    await running.ready()
    if (proxy === proxies[0]) await browse(await running.until(/(?<=^Open this URL to sign in: )\S+$/m))
    const { status, body } = await send(`http://${proxy.main}`, call(1))
    if (status !== 200) throw new Error(`${proxy.name}: ${status} ${body}\n${running.output.stderr}`)
  }
  return proxies
}
