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
      statement: 'has no secret under an unknown name',
      advice: 'return undefined, so that the next store is asked, and never an empty text',
      check: (store) =>
        firstFault([randomName(), ...UNUSUAL_NAMES], async (name) => {
          try {
            const found = await store.get(name)
            return found === undefined ? undefined : `it returns a value for ${JSON.stringify(name)}`
          } catch (error) {
            // A vault that cannot be reached may throw; it must not return a value.
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
      statement: 'returns a secret after `set`, and no longer after `delete`',
      advice: 'write before `set` resolves; `delete` returns whether the secret existed',
      awaits: 7,
      async check(store) {
        const { keeping } = store
        if (keeping === undefined) return undefined
        const [name, value] = [randomName(), `ä ${randomName()}`]
        await keeping.set(name, value)
        if ((await store.get(name)) !== value) return '`get` does not return the value that was set'
        if (!(await keeping.names()).includes(name)) return '`names` lacks a secret that was set'
        if (!(await keeping.delete(name))) return '`delete` returns false for a secret that exists'
        if ((await store.get(name)) !== undefined) return '`get` still returns a deleted secret'
        return (await keeping.delete(name)) ? '`delete` returns true for a deleted secret' : undefined
      },
    },
    {
      code: 'SECRET_WATCH_BROKEN',
      statement: 'passes each new value of a secret to its watches, until they are ended',
      advice: 'let `watch` return a function that ends the watch; it may be called twice',
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
  const received: string[] = []
  const end: unknown = store.watch(name, (value) => void received.push(value))
  if (typeof end !== 'function') return '`watch` returns no function'
  try {
    if (keeping === undefined) return undefined
    if (!(await setAndNotified(store, name, 'second', timeout))) return 'no watch gets a new value'
    if (!received.includes('second')) return 'only one of two watches gets a new value'
    end()
    await setAndNotified(store, name, 'third', timeout)
    return received.includes('third') ? 'a watch gets a new value after it was ended' : undefined
  } finally {
    end()
    end()
    await keeping?.delete(name)
  }
}

/** Sets a value, and returns whether a new watch gets it in time. */
async function setAndNotified(
  store: SecretStore,
  name: string,
  value: string,
  timeout: number,
): Promise<boolean> {
  let end: (() => void) | undefined
  const arrival = new Promise<boolean>((resolve) => {
    end = store.watch?.(name, (given) => given === value && resolve(true))
  })
  await store.keeping?.set(name, value)
  const result = await within(timeout, arrival, () => new Error('late')).catch(() => false)
  end?.()
  return result
}
