import { secretText } from 'sallyport/toolkit'
import { z } from 'zod'
import { connectionFault } from './connection-url.js'

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
