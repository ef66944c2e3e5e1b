import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { SealedValue } from './sealed-value.js'

/** What stands in a file. Further fields are those of a later version, which keeps what this one needs. */
const record = z.looseObject({ format: z.literal(1), key: z.string(), value: z.string() })
// Only to name what a file of another form was for.
const named = z.looseObject({ key: z.string() })

/** What a file says, as far as it can be understood. */
export type Record =
  | { readonly is: 'plain'; readonly key: string; readonly value: string }
  | { readonly is: 'sealed'; readonly key: string; readonly value: SealedValue }
  | { readonly is: 'unreadable'; readonly key?: string; readonly reason: string }

export function recordIn(text: string): Record {
  const { success, data } = record.safeParse(jsonIn(text))
  if (!success) {
    const { key } = named.safeParse(jsonIn(text)).data ?? {}
    return {
      is: 'unreadable',
      ...(key !== undefined && { key }),
      reason: 'it has another form than this version writes',
    }
  }
  const { key, value } = data
  if (data['sealed'] !== true) return { is: 'plain', key, value }
  const closed = SealedValue.safeParse(jsonIn(value))
  if (closed.success) return { is: 'sealed', key, value: closed.data }
  return { is: 'unreadable', key, reason: 'it is encrypted in a way that this version does not know' }
}

export const plainText = (key: string, value: string): string => textOf({ key, value })

export const sealedText = (key: string, value: SealedValue): string =>
  textOf({ key, value: JSON.stringify(value), sealed: true })

const textOf = (fields: object): string => `${JSON.stringify({ format: 1, ...fields })}\n`

/** Nothing when there is no such file. */
export async function textIn(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
