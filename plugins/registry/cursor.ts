import { z } from 'zod'
import type { Versioned } from './version-order.js'

/** The sort key of a page's last version. It needs no state here, and stays valid when a sync removes that version. */
export interface Position extends Versioned {
  readonly name: string
}

const shape = z.tuple([z.string().max(200), z.string().max(255), z.number()])

export const cursorOf = ({ name, version, publishedAt }: Position): string =>
  Buffer.from(JSON.stringify([name, version, publishedAt])).toString('base64url')

/** `undefined` for anything that `cursorOf` did not write. */
export function positionOf(cursor: string): Position | undefined {
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const read = shape.safeParse(value)
  if (!read.success) return undefined
  const [name, version, publishedAt] = read.data
  const position = { name, version, publishedAt }
  return cursorOf(position) === cursor ? position : undefined
}
