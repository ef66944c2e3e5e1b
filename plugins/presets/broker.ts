import type { Entry, SettingPath } from 'sallyport'
import { isJsonObject } from 'sallyport/toolkit'
import { z } from 'zod'
import { defined } from './settings/entry.js'
import { refuse } from './settings/refuse.js'

// The plugins validate their options themselves.
const login = z
  .looseObject({
    issuerUrl: z.string().optional().describe('the issuer where people sign in: the options of `login/oidc`'),
    authorizeUrl: z
      .string()
      .optional()
      .describe('the page of a provider without OpenID Connect: the options of `login/oauth2`'),
    use: z.string().min(1).optional().describe('another kind of login: a package, or a path'),
    with: z.record(z.string(), z.unknown()).optional().describe('the options of the plugin in `use`'),
    require: z.unknown().optional().describe('who may sign in: claims and their values, or `anyone`'),
  })
  .superRefine((written, context) => {
    const kinds = (['issuerUrl', 'authorizeUrl', 'use'] as const).filter((key) => written[key] !== undefined)
    if (kinds.length !== 1)
      refuse(context, [], 'expected one of issuerUrl, authorizeUrl and use: where do people sign in?')
    if (written.use === undefined && written.with !== undefined)
      refuse(context, ['with'], 'is for the plugin in `use`: write the options beside issuerUrl')
  })

/** The authorization server of the gateway: a section of every preset's file. Its other keys are the options of `issuer/broker`. */
export const brokerSection = z
  .looseObject({ login: login.describe('the identity provider where people sign in') })
  .optional()
  .describe(
    'MCP clients register here, and people sign in at the provider of `login`: the options of `issuer/broker`',
  )

export type BrokerSection = NonNullable<z.output<typeof brokerSection>>

interface Surroundings {
  /** Where the section stands in the file. */
  readonly at: SettingPath
  readonly resourceUrl: string | undefined
  readonly scopes: readonly string[]
  /** Settings that win over the section, with where each was written. */
  readonly origin?: { readonly broker: Entry['origin']; readonly login: Entry['origin'] }
  /** The entry that stores what has to be shared, when the list has none yet. */
  readonly state: (keyFile: string | undefined) => readonly Entry[]
}

/** The broker, the login that it uses, and its state. The broker comes first, since it makes the key file. */
export function brokerEntries(
  { login: { use, with: own, require, ...provider }, ...broker }: BrokerSection,
  { at, resourceUrl, scopes, origin, state }: Surroundings,
): Entry[] {
  const [keyFile] = [broker['keyFile']].flat().filter((path) => typeof path === 'string')
  const kind = provider.authorizeUrl === undefined ? 'login/oidc' : 'login/oauth2'
  return [
    {
      use: 'issuer/broker',
      with: {
        scopes: scopes.filter((scope) => !OWN_SCOPES.has(scope)),
        ...broker,
        ...(require !== undefined && { require }),
        ...(resourceUrl !== undefined && { resourceUrl }),
      },
      origin: { '': at, require: [...at, 'login', 'require'], ...origin?.broker },
    },
    ...state(keyFile),
    {
      use: use ?? kind,
      with: use === undefined ? defined(provider) : (own ?? {}),
      origin: { '': [...at, 'login', ...(use === undefined ? [] : ['with'])], ...origin?.login },
      ...(use !== undefined && { named: [...at, 'login', 'use'] }),
    },
  ]
}

// They are of OpenID Connect, and the broker knows them anyway.
const OWN_SCOPES: ReadonlySet<string> = new Set(['openid', 'offline_access'])

/** A section with other settings over it. */
export function brokerWith(
  section: BrokerSection | undefined,
  broker: Readonly<Record<string, unknown>>,
  provider: Readonly<Record<string, unknown>>,
): BrokerSection {
  const { clients = {}, ...others } = broker
  const written = section?.['clients']
  return {
    ...section,
    ...others,
    ...(isJsonObject(clients) && Object.keys(clients).length > 0
      ? { clients: { ...(isJsonObject(written) ? written : {}), ...clients } }
      : {}),
    login: { ...section?.login, ...provider },
  }
}
