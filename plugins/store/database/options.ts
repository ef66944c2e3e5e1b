import type { ConnectionOptions } from 'node:tls'
import { secretText } from 'sallyport/toolkit'
import { z } from 'zod'

const connectionUrl = () =>
  secretText().superRefine((text, context) => {
    const message = connectionFault(text)
    if (message !== undefined) context.addIssue({ code: 'custom', message, params: {} })
  })

/** The options of every plugin that stores in PostgreSQL. */
export const databaseOptions = z
  .strictObject({
    url: connectionUrl()
      .optional()
      .describe('URL of the database: `postgres://USER:PASSWORD@HOST:5432/DATABASE`'),
    urlFile: z
      .string()
      .min(1)
      .optional()
      .describe('file that holds the URL; it is read again when it changes'),
    directUrl: connectionUrl()
      .optional()
      .describe(
        'URL that leads to the server itself, where `url` is a pooler in transaction mode: for locks and notifications',
      ),
    schema: z
      .string()
      .regex(/^[a-z_][a-z0-9_]{0,62}$/, 'expected lower-case letters, digits and `_`, at most 63')
      .refine((name) => !name.startsWith('pg_'), 'names that begin with pg_ are reserved by PostgreSQL')
      .default('sallyport')
      .describe('schema of the tables'),
    caCertPath: z
      .string()
      .min(1)
      .optional()
      .describe(
        'PEM certificates of the authority of the server: connects with TLS, and verifies; without it, `sslmode=require` in the URL verifies with the authorities of Node',
      ),
    migrate: z
      .boolean()
      .default(false)
      .describe('create and update the tables at the start, as `sallyport migrate` does'),
  })
  .superRefine(({ url, urlFile }, context) => {
    if ((url === undefined) === (urlFile === undefined))
      context.addIssue({
        code: 'custom',
        path: ['url'],
        message: 'expected `url` or `urlFile`, and one of them',
      })
  })

export type DatabaseOptions = z.output<typeof databaseOptions>

/** A connection as the driver takes it. */
interface ConnectionSettings {
  readonly host: string
  readonly port: number
  readonly user: string | undefined
  readonly password: string
  readonly database: string | undefined
  readonly application_name: string
  readonly options: string | undefined
  /** Always set: without it the driver would follow PGSSLMODE, which may ask for TLS that is not verified. */
  readonly ssl: false | ConnectionOptions
}

const TLS_MODES = ['prefer', 'require', 'verify-ca', 'verify-full']

const Parameters = z.strictObject({
  sslmode: z
    .enum(['disable', ...TLS_MODES], {
      error: `\`sslmode\` is one of disable, ${TLS_MODES.join(', ')}: TLS is always verified`,
    })
    .optional(),
  host: z.string().optional(),
  port: z.coerce.number().int().min(1).max(65_535).optional(),
  user: z.string().optional(),
  password: z.string().optional(),
  application_name: z.string().optional(),
  options: z.string().optional(),
})

// Parameters of other programs, from which people copy URLs. Any other name may be a part of the password.
const UNSUPPORTED = [
  ...['sslrootcert', 'sslcert', 'sslkey', 'ssl', 'channel_binding', 'gssencmode', 'connect_timeout'],
  ...['target_session_attrs', 'client_encoding', 'pgbouncer', 'passfile', 'service', 'dbname'],
]

const EXPECTED =
  'expected a URL such as postgres://USER:PASSWORD@HOST:5432/DATABASE; characters such as @ : / # % in the password are encoded, as %40'

/** The fault of a URL. The message never quotes the URL, which holds the password. */
export function connectionFault(text: string): string | undefined {
  const result = parse(text)
  return typeof result === 'string' ? result : undefined
}

/** @param ca PEM certificates: with them, TLS is used whatever the URL says. */
export function connectionSettings(text: string, ca: string | undefined): ConnectionSettings {
  const result = parse(text)
  if (typeof result === 'string') throw new Error(result)
  const { sslmode, ...settings } = result
  const usesTls = ca !== undefined || (sslmode !== undefined && sslmode !== 'disable')
  // `require` and `prefer` verify too: an unverified connection would show the password to anybody in between.
  return { ...settings, ssl: usesTls && { rejectUnauthorized: true, ...(ca !== undefined && { ca }) } }
}

function parse(text: string): (Omit<ConnectionSettings, 'ssl'> & { sslmode: string | undefined }) | string {
  try {
    const url = new URL(text)
    if (!['postgres:', 'postgresql:'].includes(url.protocol)) return EXPECTED
    // With an unencoded `/`, `?` or `#` in the password, the rest of it and the `@` are parsed as this part.
    if (url.hash !== '' || `${url.pathname}${url.search}`.includes('@')) return EXPECTED
    const found = Parameters.safeParse(Object.fromEntries(url.searchParams))
    if (!found.success) return found.error.issues.map(parameterFault).join('; ')
    const { sslmode, host, port, user, password, application_name, options } = found.data
    return {
      host: host ?? (decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1') || 'localhost'),
      port: port ?? (Number(url.port) || 5432),
      user: (user ?? decodeURIComponent(url.username)) || undefined,
      password: password ?? decodeURIComponent(url.password),
      database: decodeURIComponent(url.pathname.slice(1)) || undefined,
      application_name: application_name ?? 'sallyport',
      options,
      sslmode,
    }
  } catch {
    return EXPECTED
  }
}

function parameterFault({ code, path, message, ...issue }: z.core.$ZodIssue): string {
  if (code !== 'unrecognized_keys')
    return path[0] === 'sslmode' ? message : `\`${String(path[0])}\` of the URL is not valid`
  const known = Object.keys(Parameters.shape).join(', ')
  const names = 'keys' in issue ? issue.keys : []
  const named = names.filter((name) => UNSUPPORTED.includes(name)).join(', ') || 'an unknown parameter'
  const advice = names.includes('sslrootcert') ? '; for certificates there is caCertPath' : ''
  return `the URL has parameters that are unknown here: ${named}; known: ${known}${advice}`
}
