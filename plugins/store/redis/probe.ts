import type { Redis } from 'ioredis'
import { type Examination, GatewayError } from 'sallyport'
import { RedisAddress, type RedisOptions } from './address.js'
import { closeClient, loadDriver, openClient, tryWrite } from './client.js'
import { reasonOf } from './failure.js'

/** Connects once, and then calls `look` for further checks. */
export async function examineRedis(
  { ok, wrong, path }: Examination,
  options: RedisOptions & { readonly prefix: string },
  look: (client: Redis) => Promise<void> = async () => {},
): Promise<void> {
  let address: RedisAddress | undefined
  let client: Redis | undefined
  try {
    const driver = await loadDriver()
    address = new RedisAddress(options, { path })
    const settings = address.settings()
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
    address?.close()
  }
}
