import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { eventually } from '../../kit/captured-log.js'
import { failsWith, fetching, tcpListening } from '../../kit/egress.js'
import { listening } from '../../kit/listening.js'

const MiB = 1024 * 1024
const here = { allowPrivate: true }

test('RS-23 T11: a redirect is an error, and its target is never asked', async (t) => {
  let asked = 0
  const target = await listening(t, (_request, response) => response.end(String(++asked)))
  const codes = [301, 302, 303, 307, 308]
  const origin = await listening(t, (request, response) => {
    response
      .writeHead(Number(request.url?.slice(1)), {
        location: `${target}/stolen`,
      })
      .end()
  })
  const { fetch } = fetching(t, here)

  for (const code of codes) {
    await failsWith(
      'EGRESS_REDIRECT',
      fetch(`${origin}/${code}`, { headers: { authorization: 'Bearer mine' } }),
    )
    await failsWith(
      'EGRESS_REDIRECT',
      fetch(`${origin}/${code}`, {
        method: 'POST',
        body: 'a=b',
        redirect: 'follow',
      }),
    )
  }
  assert.equal(asked, 0)
})

test('RS-23 T16: a body over the limit is not read to its end', async (t) => {
  let sent = 0
  const origin = await listening(t, (_request, response) => {
    const more = () => {
      for (; sent < 10 * MiB && !response.destroyed; sent += 65_536)
        if (!response.write(Buffer.alloc(65_536))) return
      response.end()
    }
    response.on('drain', more)
    more()
  })
  const { fetch } = fetching(t, { ...here, maxBytes: 65_536 })

  await failsWith('EGRESS_TOO_LARGE', fetch(origin))
  assert.ok(sent < 10 * MiB)
})

test('T16: a body is as large as it is once decoded, so a small bomb is a large body', async (t) => {
  const bombs = {
    gzip: gzipSync(Buffer.alloc(50 * MiB)),
    br: brotliCompressSync(Buffer.alloc(50 * MiB)),
  }
  const origin = await listening(t, (request, response) => {
    const encoding = request.url === '/gzip' ? 'gzip' : 'br'
    response.writeHead(200, { 'content-encoding': encoding }).end(bombs[encoding])
  })
  const { fetch } = fetching(t, here)

  await failsWith('EGRESS_TOO_LARGE', fetch(`${origin}/gzip`))
  await failsWith('EGRESS_TOO_LARGE', fetch(`${origin}/br`))
})

test('a compressed answer arrives decoded, and says so', async (t) => {
  const origin = await listening(t, (_request, response) => {
    response
      .writeHead(200, {
        'content-encoding': 'gzip',
        'content-type': 'application/json',
      })
      .end(gzipSync('{"a":1}'))
  })

  const response = await fetching(t, here).fetch(origin)

  assert.deepEqual(await response.json(), { a: 1 })
  assert.equal(response.headers.get('content-encoding'), null)
  assert.equal(response.headers.get('content-type'), 'application/json')
})

test('T16: headers without an end are too large, and nonsense is malformed', async (t) => {
  const huge = await listening(t, (_request, response) =>
    response.writeHead(401, { 'www-authenticate': 'x'.repeat(40_000) }).end(),
  )
  const nonsense = await tcpListening(t, (socket) => void socket.end('what is this\r\n\r\n'))
  const notGzip = await listening(t, (_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end('plain'),
  )
  const { fetch } = fetching(t, here)

  await failsWith('EGRESS_TOO_LARGE', fetch(huge))
  await failsWith('EGRESS_MALFORMED', fetch(`http://127.0.0.1:${nonsense.port}/`))
  await failsWith('EGRESS_MALFORMED', fetch(notGzip))
})

test('RS-23 T16: silence ends in time, before TLS, before headers and within the body', async (t) => {
  const hole = await tcpListening(t)
  const slow = await listening(t, (_request, response) => {
    const drip = setInterval(() => response.write('.'), 20)
    response.on('close', () => clearInterval(drip))
  })
  const { fetch } = fetching(t, { ...here, timeout: 200 })

  for (const url of [`https://127.0.0.1:${hole.port}/`, `http://127.0.0.1:${hole.port}/`, slow]) {
    const start = Date.now()
    const { statusCode } = await failsWith('EGRESS_TIMEOUT', fetch(url))
    assert.equal(statusCode, 504)
    assert.ok(Date.now() - start < 2_000)
  }
})

test('T16: a resolver that never answers ends in time', async (t) => {
  const { fetch } = fetching(t, {
    resolve: () => new Promise(() => {}),
    timeout: 100,
  })

  await failsWith('EGRESS_TIMEOUT', fetch('https://provider.test/'))
})

test('a caller who aborts gets its own reason back', async (t) => {
  const hole = await tcpListening(t)
  const { fetch } = fetching(t, here)
  const reason = new Error('the caller left')
  const controller = new AbortController()

  const running = fetch(`http://127.0.0.1:${hole.port}/`, {
    signal: controller.signal,
  })
  await eventually(() => (hole.hits > 0 ? true : undefined))
  controller.abort(reason)

  await assert.rejects(running, (error) => error === reason)
  await assert.rejects(
    fetch('https://provider.test/', { signal: AbortSignal.abort(reason) }),
    (error) => error === reason,
  )
})

test('closing ends what runs, leaves no socket open, and nothing works afterwards', async (t) => {
  const hole = await tcpListening(t)
  const origin = await listening(t, (_request, response) => response.end('kept alive'))
  const fetcher = fetching(t, { ...here, timeout: 60_000 })
  await fetcher.fetch(origin)
  const running = [
    failsWith('EGRESS_CLOSED', fetcher.fetch(`http://127.0.0.1:${hole.port}/`)),
    failsWith('EGRESS_CLOSED', fetcher.fetch(`https://127.0.0.1:${hole.port}/`)),
  ]
  await eventually(() => (hole.open === 2 ? true : undefined))

  await fetcher.close()

  await Promise.all(running)
  await eventually(() => (hole.open === 0 ? true : undefined))
  await failsWith('EGRESS_CLOSED', fetcher.fetch(origin))
})

test('T10: a header that cannot be sent is not repeated in the error', async (t) => {
  const { fetch } = fetching(t, here)

  const error = await failsWith(
    'EGRESS_FAILED',
    fetch('http://127.0.0.1:1/', {
      headers: { authorization: 'Bearer canary\n' + 'x\r\n' },
    }),
  )

  assert.doesNotMatch(`${error.message}${String(error.cause)}`, /canary/)
})
