import assert from 'node:assert/strict'
import { STATUS_CODES } from 'node:http'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { listen } from '#kit/plugin.js'
import { corpus } from './corpus.js'
import type { Message } from './message.js'
import { observing } from './observing.js'
import { answerTo, rawTarget } from './raw-target.js'

const ABOUT_CONNECTIONS = ['connection', 'keep-alive', 'transfer-encoding', 'content-length']

/** These are refused, with this status; the page has why. */
const refused: Readonly<Record<string, number>> = {
  'encoded paths': 501,
  'dots and double slashes': 501,
  'characters a URL would mend': 501,
  'GET with a body': 501,
}

/** A message without what reply-from changes: the case of names, the order of different names, trailers, the reason. */
function comparable({ line, headers, body }: Message): object {
  const named = headers.filter(([name]) => name.toLowerCase() === 'connection').map(([, value]) => value)
  const dropped = [...ABOUT_CONNECTIONS, 'host', ...named.map((name) => name.toLowerCase())]
  const kept = headers
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !dropped.includes(name))
    .toSorted(([left], [right]) => (left < right ? -1 : Number(left > right)))
  const [version = '', status = ''] = line.split(' ')
  const start = line.startsWith('HTTP/') ? `${version} ${status}` : line.replace('? HTTP', ' HTTP')
  return { start, headers: kept, body }
}

const LISTS = { 'a balancing proxy': [], 'one that is observed': [observing().entry] }

for (const [{ name, request, answer }, [proxy, observers]] of corpus.flatMap((each) =>
  Object.entries(LISTS).map((list) => [each, list] as const),
)) {
  test(`the same directly and through ${proxy}: ${name}`, async (t) => {
    const target = await rawTarget(t, () => answer)
    const list = [
      listen,
      { use: 'auth/anonymous' },
      ...observers,
      {
        use: 'forward/balanced',
        with: { targets: [target.origin], forwardAuthorization: true, forwardCookies: true },
      },
    ]
    const { main = '' } = (await serving(t, list)).addresses
    const ask = (origin: string) => answerTo(origin, request.replace('HOST', new URL(origin).host))
    const direct = await ask(target.origin)
    const proxied = await ask(main)

    const status = name.startsWith('an odd status') ? 502 : refused[name]
    if (status !== undefined) {
      assert.equal(proxied.line, `HTTP/1.1 ${status} ${STATUS_CODES[status]}`)
      return
    }
    const [seenDirect, seenProxied] = target.seen
    assert.ok(seenDirect !== undefined && seenProxied !== undefined && target.seen.length === 2)
    assert.deepEqual(comparable(seenProxied), comparable(seenDirect))
    assert.deepEqual(comparable(proxied), comparable(direct))
  })
}
