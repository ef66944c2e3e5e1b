import type { Entry, SettingPath } from 'sallyport'
import { z } from 'zod'
import type { AuthSection } from '../incoming.js'
import { oneKindOf, refuse } from '../settings/refuse.js'

// The plugin validates the values below, with its own schema.
const options = z.record(z.string(), z.unknown())

/** The section `store` of a registry's file: where the registry stores its state. */
export const storeSection = z
  .strictObject({
    sqlite: options.optional().describe('SQLite files of this machine: the options of `store/sqlite`'),
    postgres: options
      .optional()
      .describe('a database that several replicas share: the options of `store/postgres`'),
    use: z.string().min(1).optional().describe('another store: a package, or a path'),
    with: options.optional().describe('the options of the plugin in `use`'),
  })
  .superRefine(oneKindOf('postgres', 'sqlite'))
  .optional()
  .describe('where what was read of the sources is stored; `sqlite` when unset')

export const stateDirectory = z
  .string()
  .nullable()
  .optional()
  .describe('the directory of the files, also of the copies that a database has here; null keeps none')

interface Settings {
  readonly auth?: Pick<AuthSection, 'oauth'>
  readonly sources?: readonly { readonly managed?: unknown }[]
  readonly store?: z.output<typeof storeSection>
  readonly stateDirectory?: z.output<typeof stateDirectory>
}

const NOT_STORED =
  'null keeps no files, and there is no `store`: what is published in a `managed` source would be stored nowhere; leave `stateDirectory` out, or give a store'

/** Refuses a directory that the store would not use, and managed sources without a store. */
export function storeRules(
  { store, stateDirectory, sources = [] }: Settings,
  context: z.core.$RefinementCtx,
): void {
  const isPublished = sources.some(({ managed }) => managed !== undefined)
  if (isPublished && store === undefined && stateDirectory === null)
    refuse(context, ['stateDirectory'], NOT_STORED)
  if (store === undefined || stateDirectory === undefined) return
  const at = ['stateDirectory']
  if (store.use !== undefined) refuse(context, at, 'has no effect on the plugin in `store.use`: leave it out')
  if ((store.sqlite ?? store.postgres)?.['directory'] !== undefined)
    refuse(context, at, 'the store has a `directory` already: leave one of them out')
  else if (store.sqlite !== undefined && stateDirectory === null)
    refuse(context, at, 'null keeps no files, and `store.sqlite` does: leave one of them out')
}

/** The entry of the store; none when the registry stores nothing. */
export function storeEntries({ store, stateDirectory }: Settings): Entry[] {
  if (store === undefined && stateDirectory === null) return []
  const { use, sqlite, postgres, with: own } = store ?? {}
  if (use !== undefined)
    return [{ use, with: own ?? {}, origin: { '': ['store', 'with'] }, named: ['store', 'use'] }]
  const kind = postgres === undefined ? 'sqlite' : 'postgres'
  return [
    {
      use: `store/${kind}`,
      with: { ...(stateDirectory !== undefined && { directory: stateDirectory }), ...(postgres ?? sqlite) },
      origin: {
        '': ['store', kind],
        ...(stateDirectory !== undefined && { directory: ['stateDirectory'] }),
      },
      ...(store !== undefined && { named: ['store', kind] }),
    },
  ]
}

/**
 * The state store of ended sessions for all processes, also after a restart: they share the key of the cookies, and a
 * database or a directory.
 */
export function signedOutEntries({ auth, store, stateDirectory }: Settings): Entry[] {
  const { cookieKeyFile } = auth?.oauth?.signIn ?? {}
  // A broker brings the state that it shares.
  if (cookieKeyFile === undefined || auth?.oauth?.broker !== undefined) return []
  const at = ['auth', 'oauth', 'signIn', 'cookieKeyFile']
  return sharedState({ store, stateDirectory }, cookieKeyFile, at)
}

/** Where a broker of all processes stores sign-ins; in memory where nothing may be stored. */
export function brokerState(settings: Settings, keyFile: string | undefined): Entry[] {
  if (settings.store === undefined && settings.stateDirectory === null) return [{ use: 'state/memory' }]
  if (keyFile === undefined) return []
  const found = sharedState(settings, keyFile, ['auth', 'oauth', 'broker', 'keyFile'])
  if (found.length > 0 || settings.store?.use !== undefined) return found
  return [{ use: 'state/sqlite', with: { passphraseFile: keyFile } }]
}

function sharedState(
  { store, stateDirectory }: Settings,
  passphraseFile: string,
  writtenAt: SettingPath,
): Entry[] {
  if (store?.use !== undefined) return []
  const origin = { passphraseFile: writtenAt }
  if (store?.postgres !== undefined) {
    const { directory: _, ...database } = store.postgres
    const at = ['store', 'postgres']
    return [
      {
        use: 'state/postgres',
        with: { ...database, passphraseFile },
        origin: { '': at, ...origin },
        named: at,
      },
    ]
  }
  const own = store?.sqlite?.['directory']
  const directory = own ?? stateDirectory
  // The default directory of the user holds the logins of proxies.
  if (typeof directory !== 'string') return []
  const at = own === undefined ? ['stateDirectory'] : ['store', 'sqlite', 'directory']
  return [{ use: 'state/sqlite', with: { directory, passphraseFile }, origin: { '': at, ...origin } }]
}
