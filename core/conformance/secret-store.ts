import { SecretStore } from '../contract/capabilities/secret-store.js'
import { GatewayError } from '../contract/errors.js'
import { within } from '../toolkit/deadline.js'
import { randomName, UNUSUAL_NAMES } from './admission.js'
import {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  firstFault,
  hasName,
  messageOf,
} from './requirement.js'

export const secretStoreConformance: ConformanceSuite<SecretStore> = {
  capability: SecretStore,
  requirements: [
    hasName('SECRET_STORE_UNNAMED'),
    {
      code: 'SECRET_INVENTED',
      statement: 'has no secret of a name that nobody gave it',
      advice: 'answer undefined, so that the next store is asked, and never an empty text',
      check: (store) =>
        firstFault([randomName(), ...UNUSUAL_NAMES], async (name) => {
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
      statement: 'finds a secret that it holds, byte for byte',
      advice: 'compare `fixtures.secret` with what the store was given',
      async check(store, { fixtures: { secret } }) {
        if (secret === undefined) return undefined
        return (await store.get(secret.name)) === secret.value ? undefined : 'it has another value, or none'
      },
    },
    {
      code: 'KEEPING_BROKEN',
      statement: 'gives back what was set, and no longer once it was deleted',
      advice: 'write before `set` resolves; `delete` says whether there was one of that name',
      awaits: 7,
      async check(store) {
        const { keeping } = store
        if (keeping === undefined) return undefined
        const [name, value] = [randomName(), `ä ${randomName()}`]
        await keeping.set(name, value)
        if ((await store.get(name)) !== value) return 'what was set is not what is found'
        if (!(await keeping.names()).includes(name)) return 'the name of what was set is not listed'
        if (!(await keeping.delete(name))) return 'it says that there was nothing to delete'
        if ((await store.get(name)) !== undefined) return 'what was deleted is still found'
        return (await keeping.delete(name)) ? 'it deletes again what is gone' : undefined
      },
    },
    {
      code: 'SECRET_WATCH_BROKEN',
      statement: 'tells each new value of a secret that it has, until the watch is ended',
      advice: 'let `watch` return the function that ends it, which may be called twice',
      awaits: 6,
      check: watched,
    },
  ],
}

async function watched(store: SecretStore, { fixtures, timeout }: ConformanceContext): Promise<CheckResult> {
  const { keeping } = store
  const name = keeping === undefined ? fixtures.secret?.name : randomName()
  if (store.watch === undefined || name === undefined) return undefined
  await keeping?.set(name, 'first')
  const told: string[] = []
  const end: unknown = store.watch(name, (value) => void told.push(value))
  if (typeof end !== 'function') return '`watch` returns no function'
  try {
    if (keeping === undefined) return undefined
    if (!(await isTold(store, name, 'second', timeout))) return 'a new value is not told'
    if (!told.includes('second')) return 'a new value is told to one of two watches only'
    end()
    await isTold(store, name, 'third', timeout)
    return told.includes('third') ? 'a new value is told to a watch that was ended' : undefined
  } finally {
    end()
    end()
    await keeping?.delete(name)
  }
}

/** Sets a value, and waits until a watch of its own is told. */
async function isTold(store: SecretStore, name: string, value: string, timeout: number): Promise<boolean> {
  let end: (() => void) | undefined
  const arrival = new Promise<boolean>((resolve) => {
    end = store.watch?.(name, (given) => given === value && resolve(true))
  })
  await store.keeping?.set(name, value)
  const result = await within(timeout, arrival, () => new Error('late')).catch(() => false)
  end?.()
  return result
}
