import type { Redis } from 'ioredis'
import { type Examination, GatewayError } from 'sallyport'
import { closeClient, loadDriver, openClient, tryWrite } from './client.js'
import { reasonOf } from './failure.js'
import { type RedisOptions, RedisPlace } from './place.js'

/** Connects once, and lets `look` look further when that worked. */
export async function examineRedis(
  { ok, wrong, path }: Examination,
  options: RedisOptions & { readonly prefix: string },
  look: (client: Redis) => Promise<void> = async () => {},
): Promise<void> {
  let place: RedisPlace | undefined
  let client: Redis | undefined
  try {
    const driver = await loadDriver()
    place = new RedisPlace(options, { path })
    const settings = place.settings()
    client = await openClient(driver, settings)
    const { host, port, tls } = settings
    ok('Redis', `it answers at ${host}:${port}${tls === undefined ? '' : ', by TLS'}`)
    await tryWrite(client, options.prefix)
    await look(client)
  } catch (error) {
    const detail = error instanceof GatewayError ? error.message : reasonOf(error)
    const advice = 'check the URL, the password, what the user may do, and that Redis runs'
    wrong('Redis', 'REDIS_UNUSABLE', detail, advice)
  } finally {
    if (client !== undefined) await closeClient(client)
    place?.close()
  }
}
