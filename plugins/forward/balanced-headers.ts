import type { IncomingHttpHeaders } from 'node:http'
import type { FlatHeaders } from 'sallyport/toolkit'

/** As undici takes them, with the values of each name in their order. It frames the body itself. */
export function grouped(headers: FlatHeaders, host: string): Record<string, string | string[]> {
  const found: Record<string, string | string[]> = { host }
  for (let index = 0; index < headers.length; index += 2) {
    const name = (headers[index] ?? '').toLowerCase()
    const value = headers[index + 1] ?? ''
    if (name === 'host' || name === 'transfer-encoding' || name === 'expect') continue
    const before = found[name]
    found[name] = before === undefined ? value : [before, value].flat()
  }
  return found
}

/** The reverse. */
export const flat = (headers: IncomingHttpHeaders): string[] =>
  Object.entries(headers).flatMap(([name, value = '']) => [value].flat().flatMap((each) => [name, each]))
