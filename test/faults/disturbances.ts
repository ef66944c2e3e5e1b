import { setTimeout as pause } from 'node:timers/promises'
import { PASSWORD } from '#kit/postgres.js'
import { lockHolders, type Replica } from './replicas.js'
import type { Stage } from './stage.js'

export interface DisturbanceContext {
  readonly stage: Stage
  readonly random: () => number
  /** Fills the disk of the database; undefined where the system cannot mount a disk. */
  readonly fullDisk?: { begin(): void; end(): void } | undefined
}

type Disturbance = (context: DisturbanceContext) => Promise<void>

/** After each disturbance everything runs again, but may still be recovering. */
export const disturbances: Readonly<Record<string, Disturbance>> = {
  'database-stops': async ({ stage: { cluster }, random }) => {
    await cluster.stop()
    await pause(random() * 6_000)
    await cluster.start()
  },
  'database-silent': async ({ stage: { cluster }, random }) => {
    cluster.pause()
    await pause(1_000 + random() * 8_000)
    cluster.resume()
  },
  'connections-end': async ({ stage: { cluster, database } }) => {
    await cluster.terminateBackends(database)
  },
  'disk-full': async ({ stage: { cluster }, random, fullDisk }) => {
    if (fullDisk === undefined) return
    fullDisk.begin()
    await pause(2_000 + random() * 6_000)
    fullDisk.end()
    // The server may have ended by itself.
    await cluster.stop()
    await cluster.start()
  },
  'password-changes': async ({ stage: { cluster, database, registries, proxies }, random }) => {
    const password = `${PASSWORD} ${random()}`
    await database.query(`alter role ${database.name} password '${password}'`)
    await cluster.terminateBackends(database)
    await pause(random() * 4_000)
    const url = database.url.replace(encodeURIComponent(PASSWORD), encodeURIComponent(password))
    for (const replica of [...registries, ...proxies]) replica.useDatabase(url)
  },
  'leader-killed': async ({ stage: { database, registries } }) => {
    const holders = await lockHolders(database)
    const leader = registries.find(({ name }) => holders.includes(name)) ?? registries[0]
    if (leader !== undefined) await killed(leader)
  },
  'replica-killed': async ({ stage: { registries, proxies }, random }) => {
    const all = [...registries, ...proxies]
    const one = all[Math.floor(random() * all.length)]
    if (one !== undefined) await killed(one)
  },
  rollout: async ({ stage: { registries } }) => {
    for (const replica of registries) {
      await replica.end('SIGTERM')
      replica.start()
      await replica.ready()
    }
  },
}

async function killed(replica: Replica): Promise<void> {
  await replica.end('SIGKILL')
  await replica.start().ready()
}
