/** An HTTP/1.1 message as it was on the wire, with its chunked body decoded. */
export interface Message {
  readonly line: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
  readonly trailers: readonly (readonly [name: string, value: string])[]
}

/** The first message in `bytes`, and its length; undefined while it is incomplete. */
export function messageIn(
  bytes: string,
  { bodyless = false, ended = false } = {},
): { message: Message; length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [line = '', ...lines] = bytes.slice(0, end).split('\r\n')
  const headers = lines.map(pair)
  const start = end + 4
  const found = (body: string, length: number, trailers: Message['trailers'] = []) => ({
    message: { line, headers, body, trailers },
    length,
  })
  if (bodyless || /^HTTP\/1.1 (?:1\d\d|204|304)/.test(line)) return found('', start)

  if (/chunked/i.test(valueIn(headers, 'transfer-encoding') ?? '')) return chunked(bytes, start, found)
  const length = valueIn(headers, 'content-length')
  if (length === undefined && line.startsWith('HTTP/'))
    return ended ? found(bytes.slice(start), bytes.length) : undefined
  const wanted = start + Number(length ?? 0)
  return bytes.length < wanted ? undefined : found(bytes.slice(start, wanted), wanted)
}

type Found = (
  body: string,
  length: number,
  trailers: Message['trailers'],
) => { message: Message; length: number }

function chunked(bytes: string, start: number, found: Found): ReturnType<Found> | undefined {
  let body = ''
  for (let at = start; ; ) {
    const end = bytes.indexOf('\r\n', at)
    if (end < 0) return undefined
    const size = Number.parseInt(bytes.slice(at, end), 16)
    if (size === 0) {
      const rest = bytes.slice(end)
      const close = rest.indexOf('\r\n\r\n')
      if (close < 0) return undefined
      const lines = rest.slice(2, Math.max(close, 2)).split('\r\n').filter(Boolean)
      return found(body, end + close + 4, lines.map(pair))
    }
    if (bytes.length < end + 2 + size + 2) return undefined
    body += bytes.slice(end + 2, end + 2 + size)
    at = end + 2 + size + 2
  }
}

const pair = (line: string): readonly [string, string] => {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1).trim()]
}

function valueIn(headers: Message['headers'], name: string): string | undefined {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1]
}
