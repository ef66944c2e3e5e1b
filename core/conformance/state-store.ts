import { StateStore } from '../contract/capabilities/state-store.js'
import { randomName, UNUSUAL_NAMES } from './admission.js'
import { type ConformanceSuite, firstFault, messageOf } from './requirement.js'

/** Milliseconds until a value expires. */
const SOON = 100

const UNUSUAL_VALUES = ['', ' ', '\n', '\0', 'ä€😀', '"{}"', 'x'.repeat(100_000)]

export const stateStoreConformance: ConformanceSuite<StateStore> = {
  capability: StateStore,
  requirements: [
    {
      code: 'STATE_LOST',
      statement: 'returns the last written value, under any key',
      advice: 'encode keys before you use them as names of files or columns; a value is any text',
      // Each write may wait for the disk.
      awaits: 10,
      async check(store) {
        const isKept = async (key: string, value: string): Promise<boolean> => {
          await store.set(key, value)
          return (await store.get(key)) === value
        }
        const key = randomName()
        if ((await store.get(key)) !== undefined) return 'it has a value that was never written'
        for (const value of UNUSUAL_VALUES)
          if (!(await isKept(key, value))) return 'a value comes back changed'
        await store.delete(key)
        await store.delete(key)
        if ((await store.get(key)) !== undefined) return 'it still has a deleted value'
        return firstFault(UNUSUAL_NAMES, async (name) => {
          const unusual = `${key}/${name}`
          const found = await isKept(unusual, 'x')
          await store.delete(unusual)
          return found ? undefined : `a value is lost under a key that ends in ${JSON.stringify(name)}`
        })
      },
    },
    {
      code: 'STATE_KEYS',
      statement: 'lists the keys that begin with a prefix, and no others',
      advice: 'a prefix is compared as text: it holds no pattern',
      async check(store) {
        const name = randomName()
        const prefix = `${name}%_*`
        const expected = [`${prefix}/a`, `${prefix}/b`]
        // The prefix would match these as a pattern of SQL, of a shell, and as a regular expression.
        const others = [`${name}-xy*/a`, `${name}%_xy/a`, `${name}%/a`]
        const written = [...expected, ...others, `${randomName()}/a`]
        for (const key of written) await store.set(key, 'x')
        const found = [...(await store.keys(prefix))].sort()
        for (const key of written) await store.delete(key)
        return found.join() === expected.join()
          ? undefined
          : `it lists ${found.length} keys where there are 2`
      },
    },
    {
      code: 'STATE_EXPIRED',
      statement: 'returns no expired value, and lets no other value expire',
      advice:
        'store `expiresAt` beside the value, replace it with each `set`, and compare it in `get`, `take` and `keys`',
      awaits: 10,
      async check(store) {
        const [key, other] = [randomName(), randomName()]
        await store.set(key, 'x', { expiresAt: Date.now() - 1 })
        const found = [await store.get(key), await store.take(key), ...(await store.keys(key))]
        if (found.some((each) => each !== undefined)) return 'it finds a value that has expired'
        await store.set(key, 'x', { expiresAt: Date.now() + 3_600_000 })
        if ((await store.get(key)) !== 'x') return 'a value is gone before it expires'
        const soon = Date.now() + SOON
        await store.set(key, 'soon', { expiresAt: soon })
        await store.set(other, 'soon', { expiresAt: soon })
        await store.set(other, 'for ever')
        await new Promise((resolve) => void setTimeout(resolve, 2 * SOON))
        if ((await store.get(key)) !== undefined) return 'it finds a value that has expired'
        const stays = await store.get(other)
        await store.delete(other)
        return stays === 'for ever'
          ? undefined
          : 'a value expires at the expiry of the value that it replaced'
      },
    },
    {
      code: 'STATE_TAKEN_TWICE',
      statement: 'gives a value to exactly one of many concurrent `take` calls',
      advice: 'read and delete in one step, such as `delete ... returning`',
      awaits: 4,
      async check(store) {
        const key = randomName()
        if ((await store.take(key)) !== undefined) return 'it returns a value that was never written'
        await store.set(key, 'x')
        const taken = await Promise.all(Array.from({ length: 10 }, () => store.take(key)))
        const got = taken.filter((value) => value !== undefined)
        if (got.length !== 1) return `${got.length} of 10 calls get the value`
        if (got[0] !== 'x') return '`take` returns a changed value'
        return (await store.get(key)) === undefined ? undefined : 'it still has a taken value'
      },
    },
    {
      code: 'LOCK_BROKEN',
      statement: 'runs one work at a time under a lock, and always releases the lock',
      advice: 'release the lock in `finally`; return the result of the work, and throw its error',
      async check(store) {
        const [key, other] = [randomName(), randomName()]
        let running = 0
        let most = 0
        const work = async (): Promise<void> => {
          most = Math.max(most, ++running)
          await new Promise((resolve) => void setImmediate(resolve))
          running--
        }
        await Promise.all(Array.from({ length: 5 }, () => store.locked(key, work)))
        if (most !== 1) return `${most} works run at once under one lock`
        const thrown = await store.locked(key, () => Promise.reject(new Error('thrown'))).catch(messageOf)
        if (thrown !== 'thrown') return 'the error of the work is lost'
        // Also inside another lock: two keys are two locks.
        const answer = await store.locked(key, () => store.locked(other, async () => 7))
        return answer === 7 ? undefined : 'the result of the work is lost'
      },
    },
  ],
}
