import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { listen, plugin } from '#kit/plugin.js'
import { allowedDifferences } from './allowed-differences.js'
import { corpus } from './corpus.js'
import type { Message } from './message.js'
import { observing } from './observing.js'
import { send, targetRoute } from './proxied.js'
import { answerTo, rawTarget } from './raw-target.js'

const open = [{ use: 'auth/anonymous' }, listen]
const transparent = { forwardAuthorization: true, forwardCookies: true }

/** A message without the allowed differences. */
function comparable(message: Message, side: 'request' | 'response'): object {
  const allowed = allowedDifferences.filter((one) => one.side === side).flatMap(({ headers }) => headers)
  // Allowed only with a credential or a list of origins, which this proxy does not have.
  const strict = ['authorization', 'cookie', 'www-authenticate', 'set-cookie', 'access-control-*', 'vary']
  const named = message.headers
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.toLowerCase().split(/\s*,\s*/))
  const differs = (name: string): boolean =>
    named.includes(name) ||
    allowed.some(
      (each) =>
        !strict.includes(each) && (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : each === name),
    )
  return { ...message, headers: message.headers.filter(([name]) => !differs(name.toLowerCase())) }
}

const lengthOf = ({ headers }: Message): string =>
  headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? '0'

const forwarder = (target: string) => ({
  use: 'forward/http',
  with: { target: targetRoute.urlOf(target), ...transparent },
})
const balancer = (target: string) => ({
  use: 'forward/balanced',
  with: { targets: [targetRoute.urlOf(target)], ...transparent },
})
const LISTS = {
  'the proxy': (target: string) => [forwarder(target)],
  'a proxy that is observed': (target: string) => [observing().entry, forwarder(target)],
  'a balancing proxy': (target: string) => [balancer(target)],
}

for (const [{ name, request, answer }, [proxy, listFor]] of corpus.flatMap((each) =>
  Object.entries(LISTS).map((list) => [each, list] as const),
)) {
  test(`the target and the caller get the same bytes directly and through ${proxy}: ${name}`, async (t) => {
    const target = await rawTarget(t, () => answer)
    const { main = '' } = (await serving(t, [...open, ...listFor(target.origin)])).addresses
    const ask = (origin: string) => answerTo(origin, request.replace('HOST', new URL(origin).host))

    const direct = await ask(target.origin)
    const proxied = await ask(main)
    const [seenDirect, seenProxied] = target.seen
    assert.ok(seenDirect !== undefined && seenProxied !== undefined && target.seen.length === 2)

    assert.deepEqual(comparable(seenProxied, 'request'), comparable(seenDirect, 'request'))
    assert.deepEqual(comparable(proxied, 'response'), comparable(direct, 'response'))
    assert.equal(lengthOf(seenProxied), lengthOf(seenDirect))
    assert.ok(
      seenProxied.headers.some(
        ([each, value]) => each.toLowerCase() === 'host' && targetRoute.urlOf(target.origin).endsWith(value),
      ),
    )
  })
}

test('the path of a scope leads to the path of the target, with a slash at its end and without', async (t) => {
  const target = await listening(t, (request, response) => response.end(`${request.method} ${request.url}`))
  const taken = plugin('taken', ({ http }) => void http.get('/', () => 'a page'))
  const forward = { use: 'forward/http', with: { target: `${target}/mcp` } }
  const { addresses } = await serving(t, [
    listen,
    { use: 'auth/anonymous' },
    { scope: '/notes', plugins: [forward] },
    { scope: '/shared', plugins: [taken, forward] },
  ])
  const ask = async (path: string, method = 'POST') =>
    (await send(addresses.main ?? '', { path, method })).body

  assert.equal(await ask('/notes'), 'POST /mcp')
  assert.equal(await ask('/notes?x=1'), 'POST /mcp?x=1')
  assert.equal(await ask('/notes/'), 'POST /mcp')
  assert.equal(await ask('/notes/mcp', 'GET'), 'GET /mcp')
  assert.match(await ask('/notesandmore'), /not_found/)
  assert.equal(await ask('/shared', 'GET'), 'a page')
  assert.equal(await ask('/shared'), 'POST /mcp')
})
