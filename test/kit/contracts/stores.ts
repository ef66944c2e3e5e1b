import { randomBytes } from 'node:crypto'
import { GatewayError, SecretStore, StateStore } from 'sallyport'
import { type Contract, firstFault, messageOf } from './contract.js'

const ODD_NAMES = [
  '../../etc/passwd',
  '/etc/passwd',
  '..',
  '.',
  '',
  ' ',
  'a/b',
  'a\0b',
  '__proto__',
  'constructor',
  'ä',
]
const fresh = (): string => `bench-${randomBytes(6).toString('hex')}`

export const secretStoreContract: Contract<SecretStore> = {
  capability: SecretStore,
  clauses: [
    {
      code: 'SECRET_INVENTED',
      asks: 'has no secret of a name that nobody gave it',
      advice: 'answer undefined, so that the next store is asked, and never an empty text',
      look: (store) =>
        firstFault([fresh(), ...ODD_NAMES], async (name) => {
          try {
            const found = await store.get(name)
            return found === undefined ? undefined : `it answers something for ${JSON.stringify(name)}`
          } catch (error) {
            // A vault that cannot be reached says so; what it must not do is answer.
            return error instanceof GatewayError
              ? undefined
              : `for ${JSON.stringify(name)} it throws: ${messageOf(error)}`
          }
        }),
    },
    {
      code: 'SECRET_MISSING',
      asks: 'finds a secret that it holds, byte for byte',
      advice: 'compare `facts.secret` with what the store was given',
      async look(store, { facts: { secret } }) {
        if (secret === undefined) return undefined
        return (await store.get(secret.name)) === secret.value ? undefined : 'it has another value, or none'
      },
    },
    {
      code: 'KEEPING_BROKEN',
      asks: 'gives back what it was given to keep, and no longer after it was told to forget',
      advice: 'write before `set` resolves; `delete` says whether there was one of that name',
      answers: 7,
      async look(store) {
        const { keeping } = store
        if (keeping === undefined) return undefined
        const [name, value] = [fresh(), `ä ${fresh()}`]
        await keeping.set(name, value)
        if ((await store.get(name)) !== value) return 'what was set is not what is found'
        if (!(await keeping.names()).includes(name)) return 'the name of what was set is not listed'
        if (!(await keeping.delete(name))) return 'it says that there was nothing to delete'
        if ((await store.get(name)) !== undefined) return 'what was deleted is still found'
        return (await keeping.delete(name)) ? 'it deletes again what is gone' : undefined
      },
    },
  ],
}

const ODD_VALUES = ['', ' ', '\n', '\0', 'ä€😀', '"{}"', 'x'.repeat(100_000)]

export const stateStoreContract: Contract<StateStore> = {
  capability: StateStore,
  clauses: [
    {
      code: 'STATE_LOST',
      asks: 'gives back what was written last, under any key',
      advice: 'encode keys before they become names of files or columns; a value is any text',
      // Each write may go to the disk, and wait for it.
      answers: 10,
      async look(store) {
        const kept = async (key: string, value: string): Promise<boolean> => {
          await store.set(key, value)
          return (await store.get(key)) === value
        }
        const key = fresh()
        if ((await store.get(key)) !== undefined) return 'it has a value that nobody wrote'
        for (const value of ODD_VALUES) if (!(await kept(key, value))) return 'a value comes back changed'
        await store.delete(key)
        await store.delete(key)
        if ((await store.get(key)) !== undefined) return 'what was deleted is still there'
        return firstFault(ODD_NAMES, async (odd) => {
          const long = `${key}/${odd}`
          const there = await kept(long, 'x')
          await store.delete(long)
          return there ? undefined : `a value is lost under a key that ends in ${JSON.stringify(odd)}`
        })
      },
    },
    {
      code: 'STATE_KEYS',
      asks: 'lists the keys that begin so, and no others',
      advice: 'a prefix is compared as text: it holds no pattern',
      async look(store) {
        const [one, other] = [`${fresh()}%_*`, fresh()]
        const mine = [`${one}/a`, `${one}/b`]
        for (const key of [...mine, `${other}/a`]) await store.set(key, 'x')
        const found = [...(await store.keys(one))].sort()
        for (const key of [...mine, `${other}/a`]) await store.delete(key)
        return found.join() === mine.join() ? undefined : `it lists ${found.length} keys where there are 2`
      },
    },
    {
      code: 'LOCK_BROKEN',
      asks: 'lets one at a time into a lock, and lets go of it whatever happens inside',
      advice: 'release in `finally`; answer what the work answered, and throw what it threw',
      async look(store) {
        const [key, other] = [fresh(), fresh()]
        let inside = 0
        let most = 0
        const work = async (): Promise<void> => {
          most = Math.max(most, ++inside)
          await new Promise((resolve) => void setImmediate(resolve))
          inside--
        }
        await Promise.all(Array.from({ length: 5 }, () => store.locked(key, work)))
        if (most !== 1) return `${most} are inside at once`
        const thrown = await store.locked(key, () => Promise.reject(new Error('inside'))).catch(messageOf)
        if (thrown !== 'inside') return 'what the work throws does not come out'
        // Also within another: two keys are two locks.
        const answer = await store.locked(key, () => store.locked(other, async () => 7))
        return answer === 7 ? undefined : 'what the work answers does not come out'
      },
    },
  ],
}
