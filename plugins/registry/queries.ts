import { z } from 'zod'

// A query parameter is text, or a list when its name is repeated.
const expected = (what: string) => ({ error: `expected ${what}` })

const flag = z
  .enum(['true', 'false'], expected('true or false'))
  .default('false')
  .transform((text) => text === 'true')

const wholeNumber = (least: number, most: number, what: string) =>
  z
    .string(expected(what))
    .regex(/^\d{1,6}$/, expected(what))
    .transform(Number)
    .pipe(z.int().min(least, expected(what)).max(most, expected(what)))

const includeDeleted = flag
  .describe('include deleted versions')
  .meta({ wire: { type: 'boolean', default: false } })

const LIMIT = 100

const cursor = z
  .string(expected('one text'))
  .max(1024)
  .optional()
  // A client without a cursor may send an empty one.
  .transform((text) => (text === '' ? undefined : text))

export const listQuery = z.object({
  cursor: cursor.describe('`nextCursor` of the previous page; it stays valid when the registry changes'),
  limit: wholeNumber(1, LIMIT, `a whole number from 1 to ${LIMIT}`)
    .prefault('30')
    .describe('the most versions on the page')
    .meta({ wire: { type: 'integer', minimum: 1, maximum: LIMIT, default: 30 } }),
  search: z
    .string(expected('one text'))
    .max(200)
    .toLowerCase()
    .optional()
    .describe('a part of the server name, in any case'),
  updated_since: z.iso
    .datetime({ offset: true, ...expected('an RFC 3339 date-time such as 2025-08-07T13:15:04Z') })
    .transform(Date.parse)
    .optional()
    .describe('only what was changed then or later, deleted versions included'),
  version: z
    .string(expected('one text'))
    .min(1)
    .max(255)
    .optional()
    .describe('`latest`, or one version exactly'),
  include_deleted: includeDeleted,
})

export const deletedQuery = z.object({ include_deleted: includeDeleted })

export const versionsQuery = deletedQuery.extend({
  cursor: cursor.describe(
    '`nextCursor` of the previous page; it stays valid as long as its last version is there',
  ),
})

const registry = z.string().describe('the name of the registry')
const serverName = z.string().max(200).describe('the name of the server; its slash is written %2F')

export const registryParams = z.object({ registry })
export const serverParams = registryParams.extend({ serverName })
export const versionParams = serverParams.extend({
  version: z.string().max(255).describe('a version, percent-encoded, or `latest`'),
})
