import { boot, createLog, definePlugin, GatewayError, StateStore } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { z } from 'zod'
import type { Invocation } from '../options/option.js'
import { exitCode, tell } from '../terminal.js'

/** What of a kept login a person wants to know; its tokens stay where they are. */
const Login = z.object({
  target: z.string(),
  server: z.object({ issuer: z.string() }),
  client: z.object({ clientId: z.string() }),
  scopes: z.array(z.string()),
  tokens: z.object({ expiresAt: z.number().optional(), refreshToken: z.unknown() }),
})

const SESSIONS = 'oauth/session/'
const EVERYTHING = 'all'
// Shown and dropped is also what was kept with `--remote-auth-no-keyring`.
const READING = { keptKey: false }

/** Shows, encrypts and drops the logins that are kept for `--remote-auth`. */
export async function auth({ positionals: [action, target] }: Invocation): Promise<number> {
  const place = `auth ${action}`
  if (action !== 'logout') {
    if (target !== undefined) return tell([{ place, message: 'takes no target' }])
    return inStore(place, list, action === 'seal' ? { takeOver: true } : READING)
  }
  if (target !== undefined) return inStore(place, (store) => logout(store, target))
  return tell([{ place, message: `expected a target as \`auth list\` shows it, or \`${EVERYTHING}\`` }])
}

async function list(store: StateStore): Promise<number> {
  for (const key of await store.keys(SESSIONS)) {
    const login = await loginAt(store, key)
    if (login === undefined) continue
    const { target, server, client, scopes, tokens } = login
    const lasts = tokens.refreshToken !== undefined ? 'renewed by itself' : endOf(tokens.expiresAt)
    const asked = scopes.length > 0 ? `, scopes ${scopes.join(' ')}` : ''
    print(`${target}: client ${client.clientId} at ${server.issuer}${asked}, ${lasts}`)
  }
  return exitCode.asked
}

const endOf = (at: number | undefined): string =>
  at === undefined ? 'without an end' : `until ${new Date(at).toISOString()}`

async function logout(store: StateStore, target: string): Promise<number> {
  const all = await store.keys('oauth/')
  const dropped: string[] = []
  for (const key of all) {
    if (target === EVERYTHING || (await isOf(key, target, store))) dropped.push(key)
  }
  for (const key of dropped) await store.delete(key)
  if (dropped.length > 0) return exitCode.asked
  process.stderr.write(`nothing is kept for ${target}\n`)
  return exitCode.failed
}

async function isOf(key: string, target: string, store: StateStore): Promise<boolean> {
  if (key.startsWith('oauth/binding/')) return key.endsWith(`/${target}`)
  return key.startsWith(SESSIONS) && (await loginAt(store, key))?.target === target
}

async function loginAt(store: StateStore, key: string): Promise<z.output<typeof Login> | undefined> {
  const text = await store.get(key)
  try {
    return Login.parse(JSON.parse(text ?? ''))
  } catch {
    // Of another version, which will know it.
    return undefined
  }
}

/** Boots a list of the store alone, and does with it what was asked. */
async function inStore(
  place: string,
  work: (store: StateStore) => Promise<number>,
  options: Readonly<Record<string, boolean>> = READING,
): Promise<number> {
  let store: (() => StateStore) | undefined
  const worker = definePlugin({
    name: 'worker',
    api: 1,
    requires: [StateStore],
    setup(gateway) {
      store = gateway.use(StateStore)
    },
  })
  const log = createLog({ level: 'warn' })
  const list = [{ use: 'secrets/keyring' }, { use: 'state/files', with: options }, { use: worker }]
  const booted = await boot(list, { catalogue, folder: process.cwd(), log })
  try {
    return store === undefined ? exitCode.failed : await work(store())
  } catch (error) {
    if (error instanceof GatewayError) return tell([{ place, message: error.message }])
    throw error
  } finally {
    await booted.stop()
  }
}

// What a target named may hold anything.
const print = (line: string): void => void process.stdout.write(`${line.replaceAll(/\p{Cc}/gu, '?')}\n`)
