import { StateStore } from '../contract/capabilities/state-store.js'
import { randomName, UNUSUAL_NAMES } from './random-name.js'
import { type ConformanceSuite, firstFault, messageOf } from './requirement.js'

const UNUSUAL_VALUES = ['', ' ', '\n', '\0', 'ä€😀', '"{}"', 'x'.repeat(100_000)]

export const stateStoreConformance: ConformanceSuite<StateStore> = {
  capability: StateStore,
  requirements: [
    {
      code: 'STATE_LOST',
      statement: 'gives back what was written last, under any key',
      advice: 'encode keys before they become names of files or columns; a value is any text',
      // Each write may go to the disk, and wait for it.
      awaits: 10,
      async check(store) {
        const isKept = async (key: string, value: string): Promise<boolean> => {
          await store.set(key, value)
          return (await store.get(key)) === value
        }
        const key = randomName()
        if ((await store.get(key)) !== undefined) return 'it has a value that nobody wrote'
        for (const value of UNUSUAL_VALUES)
          if (!(await isKept(key, value))) return 'a value comes back changed'
        await store.delete(key)
        await store.delete(key)
        if ((await store.get(key)) !== undefined) return 'what was deleted is still there'
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
      code: 'LOCK_BROKEN',
      statement: 'runs one at a time under a lock, and releases it whatever happens',
      advice: 'release in `finally`; answer what the work answered, and throw what it threw',
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
        if (most !== 1) return `${most} run at once`
        const thrown = await store.locked(key, () => Promise.reject(new Error('thrown'))).catch(messageOf)
        if (thrown !== 'thrown') return 'what the work throws does not come out'
        // Also within another: two keys are two locks.
        const answer = await store.locked(key, () => store.locked(other, async () => 7))
        return answer === 7 ? undefined : 'what the work answers does not come out'
      },
    },
  ],
}
