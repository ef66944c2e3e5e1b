import type { Redis } from 'ioredis'
import { replyCode } from '#plugins/store/redis/failure.js'

/** The server's own statement of its durability; undefined where it gives none. */
export interface Durability {
  readonly appendOnly: string | undefined
  readonly policy: string | undefined
}

/** By CONFIG GET, or by INFO where the user may not use that. */
export async function readDurability(client: Redis): Promise<Durability> {
  const settings = await allowed(() => client.config('GET', 'appendonly', 'maxmemory-policy'))
  if (Array.isArray(settings) && settings.length >= 4) {
    const at = (name: string): string | undefined => settings[settings.indexOf(name) + 1]
    return { appendOnly: at('appendonly'), policy: at('maxmemory-policy') }
  }
  const [persistence, memory] = await Promise.all([
    allowed(() => client.info('persistence')),
    allowed(() => client.info('memory')),
  ])
  const enabled = /^aof_enabled:(\d)/m.exec(String(persistence))?.[1]
  return {
    appendOnly: enabled === undefined ? undefined : enabled === '1' ? 'yes' : 'no',
    policy: /^maxmemory_policy:([\w-]+)/m.exec(String(memory))?.[1],
  }
}

/** The faults of the settings, with the possible losses. */
export function durabilityFaults(
  { appendOnly, policy }: Durability,
  knownDurable: boolean,
): readonly string[] {
  const isSilent = appendOnly === undefined || policy === undefined
  return [
    ...(appendOnly === 'no'
      ? [
          '`appendonly` is `no`: when Redis restarts, all logins and registered clients are gone; set `appendonly yes`',
        ]
      : []),
    ...(policy !== undefined && policy !== 'noeviction'
      ? [
          `\`maxmemory-policy\` is \`${policy}\`: when its memory is full, Redis drops logins and locks without a word; set \`maxmemory-policy noeviction\``,
        ]
      : []),
    ...(isSilent && !knownDurable
      ? [
          'Redis tells this user neither by CONFIG GET nor by INFO whether it keeps what is written (`appendonly yes`, `maxmemory-policy noeviction`): without that, logins and registered clients are lost when it restarts or its memory is full; allow the user one of the commands, or set `knownDurable: true` when you know it',
        ]
      : []),
  ]
}

/** The reply; undefined when the server refuses the command. */
async function allowed<T>(command: () => Promise<T>): Promise<T | undefined> {
  try {
    return await command()
  } catch (error) {
    if (replyCode(error) === undefined) throw error
    return undefined
  }
}
