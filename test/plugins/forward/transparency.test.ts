import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serving } from '../../kit/booted.js'
import { allowedDifferences } from './allowed-differences.js'
import { corpus } from './corpus.js'
import type { Message } from './message.js'
import { way } from './proxied.js'
import { answerTo, rawTarget } from './raw-target.js'

const open = [{ use: 'auth/anonymous' }, { use: 'listen/http', with: { address: '127.0.0.1:0' } }]
const transparent = { forwardAuthorization: true, forwardCookies: true }

/** A message without what the table allows to differ. */
function comparable(message: Message, side: 'request' | 'answer'): object {
  const allowed = allowedDifferences.filter((one) => one.side === side).flatMap(({ headers }) => headers)
  // Allowed only where the proxy holds a credential or a list of origins, which it does not here.
  const strict = ['authorization', 'cookie', 'www-authenticate', 'access-control-*', 'vary']
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

for (const { name, request, answer } of corpus) {
  test(`direct and through the proxy it is the same: ${name}`, async (t) => {
    const target = await rawTarget(t, () => answer)
    const { main = '' } = (
      await serving(t, [
        ...open,
        { use: 'forward/http', with: { target: way.to(target.origin), ...transparent } },
      ])
    ).addresses
    const ask = (origin: string) => answerTo(origin, request.replace('HOST', new URL(origin).host))

    const direct = await ask(target.origin)
    const proxied = await ask(main)
    const [seenDirect, seenProxied] = target.seen
    assert.ok(seenDirect !== undefined && seenProxied !== undefined && target.seen.length === 2)

    assert.deepEqual(comparable(seenProxied, 'request'), comparable(seenDirect, 'request'))
    assert.deepEqual(comparable(proxied, 'answer'), comparable(direct, 'answer'))
    assert.equal(lengthOf(seenProxied), lengthOf(seenDirect))
    assert.ok(
      seenProxied.headers.some(
        ([each, value]) => each.toLowerCase() === 'host' && way.to(target.origin).endsWith(value),
      ),
    )
  })
}
