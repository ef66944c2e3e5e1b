import type { Redis } from 'ioredis'
import { ConfigError, definePlugin, Health, StateStore } from 'sallyport'
import { z } from 'zod'
import { checkRedisOptions, redisFields } from '#plugins/store/redis/address.js'
import { loadDriver } from '#plugins/store/redis/client.js'
import { RedisConnection } from '#plugins/store/redis/connection.js'
import { durabilityFaults, readDurability } from './redis-demands.js'
import { RedisStore } from './redis-store.js'
import { SealedValues, sharedKeyOptions } from './sealed-values.js'

export default definePlugin({
  name: 'state/redis',
  api: 1,
  summary:
    'Stores tokens and registered clients in Redis, encrypted, for all processes that use the same server.',
  provides: [StateStore, Health],
  options: z
    .strictObject({
      ...redisFields,
      ...sharedKeyOptions,
      prefix: z.string().default('sallyport:').describe('what all keys in Redis begin with'),
      knownDurable: z
        .boolean()
        .default(false)
        .describe(
          'start although Redis does not tell whether it keeps what is written: you know that `appendonly` is `yes` and `maxmemory-policy` is `noeviction`',
        ),
    })
    .superRefine(checkRedisOptions),

  async setup(gateway, { url, urlFile, caCertPath, passphrase, passphraseFile, prefix, knownDurable }) {
    const { log } = gateway
    const sealed = SealedValues.open(gateway, { passphrase, passphraseFile })
    const admit = async (client: Redis): Promise<void> => {
      const faults = durabilityFaults(await readDurability(client), knownDurable)
      const place = url === undefined ? 'urlFile' : 'url'
      if (faults.length > 0) throw new ConfigError(faults.map((message) => ({ place, message })))
    }
    const connection = await RedisConnection.open({ url, urlFile, caCertPath, prefix }, gateway, admit)
    gateway.provide(StateStore, new RedisStore({ connection, sealed, prefix, log }))
    gateway.provide(Health, { name: gateway.id, check: () => connection.health() })
    gateway.onStart(() => connection.start())
    gateway.onStop(() => connection.close())
  },

  importPackages: loadDriver,

  async examine(examination, options) {
    const { examineRedisState } = await import('./examine-redis.js')
    await examineRedisState(examination, options)
  },
})
