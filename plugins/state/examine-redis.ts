import type { Redis } from 'ioredis'
import type { Examination } from 'sallyport'
import type { RedisOptions } from '#plugins/store/redis/address.js'
import { examineRedis } from '#plugins/store/redis/probe.js'
import { durabilityFaults, readDurability } from './redis-demands.js'

interface Options extends RedisOptions {
  readonly knownDurable: boolean
  readonly prefix: string
}

/** Seconds by which clocks may differ; tokens expire by those of the gateways. */
const CLOCK_TOLERANCE = 5

export const examineRedisState = (examination: Examination, options: Options): Promise<void> =>
  examineRedis(examination, options, async (client) => {
    await examineDurability(examination, client, options.knownDurable)
    await examineClock(examination, client)
  })

async function examineDurability(
  { ok, wrong }: Examination,
  client: Redis,
  knownDurable: boolean,
): Promise<void> {
  const faults = durabilityFaults(await readDurability(client), knownDurable)
  if (faults.length === 0) ok('Redis storage', 'it keeps what is written')
  else {
    const advice = 'change the configuration of Redis, in its file too'
    wrong('Redis storage', 'REDIS_NOT_DURABLE', faults.join('; '), advice)
  }
}

async function examineClock({ ok, warning }: Examination, client: Redis): Promise<void> {
  const begun = Date.now()
  const [seconds] = await client.time()
  const off = Math.abs((begun + Date.now()) / 2000 - Number(seconds))
  if (off <= CLOCK_TOLERANCE) ok('Redis clock', 'it agrees with the clock of this machine')
  else {
    const detail = `it differs by ${Math.round(off)} s from the clock of this machine`
    warning('Redis clock', 'CLOCK_OFF', detail, 'let both machines set their clocks by NTP')
  }
}
