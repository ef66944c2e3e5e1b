import { ConfigError, type Gateway, GatewayError, type List, SecretStore, StateStore } from 'sallyport'
import { loginStore } from 'sallyport/presets/tools'
import { z } from 'zod'
import { withPart } from '../../config/part-of-list.js'
import { readList } from '../../config/read-list.js'
import { type Located, locatedHere } from '../../config/result.js'
import { createRunLog, type Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printable, printProblems } from '../../terminal.js'
import { authCommand } from './flags.js'
import { isForPeople, peopleProblems, withPeople } from './people.js'

/** The part of a stored login that the command shows: never its tokens. */
const Login = z.object({
  target: z.string(),
  server: z.object({ issuer: z.string() }),
  client: z.object({ clientId: z.string() }),
  scopes: z.array(z.string()),
  tokens: z.object({ expiresAt: z.number().optional(), refreshToken: z.unknown() }),
})

const SESSIONS = 'oauth/session/'
const EVERYTHING = 'all'
// Logins that were stored with `--remote-auth-no-keyring` are shown and deleted too.
const READ_UNENCRYPTED = { keptKey: false }

/** Shows, encrypts and deletes the logins that are stored for `--remote-auth`; shows and revokes the people who signed in. */
export async function auth(invocation: Invocation, io: Io): Promise<number> {
  const problems = peopleProblems(invocation)
  if (problems.length > 0) return printProblems(problems, io)
  return isForPeople(invocation) ? withPeople(invocation, io) : withLogins(invocation, io)
}

async function withLogins(
  { positionals: [action, target], options, environment }: Invocation,
  io: Io,
): Promise<number> {
  const place = `auth ${action}`
  const { config } = valuesOf(authCommand.groups, options)
  if (action === 'seal' && config !== undefined)
    return printProblems([{ place, message: 'takes no file: it encrypts the logins of this user' }], io)
  const own = loginStore(action === 'seal' ? { takeOver: true } : READ_UNENCRYPTED)
  const located = config === undefined ? locatedHere(own) : await readList(config, environment)
  if ('problems' in located) return printProblems(located.problems, io)
  if (action !== 'logout') {
    if (target !== undefined) return printProblems([{ place, message: 'takes no target' }], io)
    return inStore(place, (store) => list(store, io), located, io)
  }
  if (target !== undefined) return inStore(place, (store) => logout(store, target, io), located, io)
  const message = `expected a target as \`auth list\` shows it, or \`${EVERYTHING}\``
  return printProblems([{ place, message }], io)
}

async function list(store: StateStore, { stdout }: Io): Promise<number> {
  for (const key of await store.keys(SESSIONS)) {
    const login = await loginAt(store, key)
    if (login === undefined) continue
    const { target, server, client, scopes, tokens } = login
    const lasts = tokens.refreshToken !== undefined ? 'renewed by itself' : endOf(tokens.expiresAt)
    const asked = scopes.length > 0 ? `, scopes ${scopes.join(' ')}` : ''
    // The names come from the target, and may hold any character.
    stdout.write(
      `${printable(`${target}: client ${client.clientId} at ${server.issuer}${asked}, ${lasts}`)}\n`,
    )
  }
  return exitCode.ok
}

const endOf = (at: number | undefined): string =>
  at === undefined ? 'without an end' : `until ${new Date(at).toISOString()}`

async function logout(store: StateStore, target: string, { stderr }: Io): Promise<number> {
  const all = await store.keys('oauth/')
  const dropped: string[] = []
  for (const key of all) {
    if (target === EVERYTHING || (await isOf(key, target, store))) dropped.push(key)
  }
  for (const key of dropped) await store.delete(key)
  if (dropped.length > 0) return exitCode.ok
  stderr.write(`no login is stored for ${target}\n`)
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
    // Another version has written it, and can read it.
    return undefined
  }
}

/** Boots the state store of a list with the plugins it requires, and runs `work` on it. */
async function inStore(
  place: string,
  work: (store: StateStore) => Promise<number>,
  located: Located<List>,
  io: Io,
): Promise<number> {
  const part = {
    name: 'auth',
    read: (gateway: Gateway) => gateway.use(StateStore),
    // A state store may have its key in a secret store.
    capabilities: [StateStore, SecretStore],
    neededBy: place,
    log: createRunLog(io, { level: 'warn' }),
  } as const
  try {
    return await withPart(located, part, ([store]) => work(store()))
  } catch (error) {
    if (!(error instanceof GatewayError) || error instanceof ConfigError) throw error
    return printProblems([{ place, message: error.message }], io)
  }
}
