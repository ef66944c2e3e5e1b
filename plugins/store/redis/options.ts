import { secretText } from 'sallyport/toolkit'
import { z } from 'zod'
import { urlFault } from './redis-url.js'

/** Where Redis is, as options of a plugin; `checkPlace` refines them. */
export const redisFields = {
  url: secretText()
    .optional()
    .describe('URL of the server: `redis://USER:PASSWORD@HOST:6379/0`, or `rediss://` for TLS'),
  urlFile: z
    .string()
    .min(1)
    .optional()
    .describe('file that holds the URL; each new connection uses what it holds then'),
  caCertPath: z
    .string()
    .min(1)
    .optional()
    .describe(
      'PEM certificates of the authority of the server: connects with TLS, and verifies; without it, `rediss://` verifies with the authorities of Node',
    ),
}

export interface RedisOptions {
  readonly url?: string | undefined
  readonly urlFile?: string | undefined
  readonly caCertPath?: string | undefined
}

export function checkPlace({ url, urlFile }: RedisOptions, context: z.core.$RefinementCtx): void {
  const isOne = (url === undefined) !== (urlFile === undefined)
  const message = isOne
    ? urlFault(url ?? 'redis://in-the-file')
    : 'expected `url` or `urlFile`, and one of them'
  if (message !== undefined) context.addIssue({ code: 'custom', path: ['url'], message })
}
