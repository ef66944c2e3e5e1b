import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { failsWith, fetching, tcpListening } from '#kit/egress.js'
import { listening } from '#kit/listening.js'

const MiB = 1024 * 1024

const here = { allowPrivate: true }

test('RS-23 T11: a redirect is an error, and is not followed', async (t) => {
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

test('the fetcher reads a limited part of a discarded body, and the rest causes no failure', async (t) => {
  let sent = 0
  const origin = await listening(t, ({ url }, response) => {
    const more = () => {
      for (; sent < 10 * MiB && !response.destroyed; sent += 65_536)
        if (!response.write(Buffer.alloc(65_536))) return
      response.end()
    }
    response.statusCode = 202
    if (url === '/short') response.end('x')
    else {
      response.on('drain', more)
      more()
    }
  })
  const { fetch } = fetching(t, { ...here, maxBytes: 65_536, discardsBody: true })
  for (const path of ['/short', '/long']) {
    const response = await fetch(origin + path)
    assert.deepEqual([response.status, await response.text()], [202, ''])
  }
  assert.ok(sent < 10 * MiB)
})

test('T16: the size of a body counts after decoding, also for a decompression bomb', async (t) => {
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

test('a compressed response is decoded, and its headers do not name the encoding', async (t) => {
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

test('T16: endless headers are too large, and a response that is not HTTP is malformed', async (t) => {
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

test('RS-23 T16: a server that stops sending is a timeout, before TLS, before headers and within the body', async (t) => {
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

test('T16: a resolver that never answers is a timeout', async (t) => {
  const { fetch } = fetching(t, {
    resolve: () => new Promise(() => {}),
    timeout: 100,
  })

  await failsWith('EGRESS_TIMEOUT', fetch('https://provider.test/'))
})
