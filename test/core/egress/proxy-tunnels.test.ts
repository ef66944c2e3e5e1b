import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { ProxyTunnels } from 'sallyport/toolkit'
import { eventually } from '#kit/captured-log.js'
import { connectProxy } from '#kit/connect-proxy.js'
import { failsWith, fetching, tcpListening } from '#kit/egress.js'
import { freePort } from '#kit/free-port.js'
import { listening } from '#kit/listening.js'

const plain = new URL('http://target.test')

function opening(t: TestContext, proxy: string, to: URL = plain, timeout = 5_000) {
  const tunnels = new ProxyTunnels(proxy, { timeout })
  t.after(() => tunnels.close())
  let giveUp = () => {}
  const result = new Promise<Parameters<Parameters<ProxyTunnels['open']>[1]>>((resolve) => {
    giveUp = tunnels.open(to, (...told) => resolve(told))
  })
  return { tunnels, giveUp, result }
}

/** A proxy that sends these bytes to every connection. */
async function saying(t: TestContext, bytes: string) {
  const { port } = await tcpListening(t, (socket) => socket.once('data', () => socket.write(bytes)))
  return `http://127.0.0.1:${port}`
}

test('bytes right after the response to CONNECT are not lost', async (t) => {
  const proxy = await saying(t, 'HTTP/1.1 200 OK\r\nVia: 1.1 x\r\n\r\nfirst words')
  const [error, socket] = await opening(t, proxy).result
  assert.equal(error, null)
  const [chunk] = await once(socket, 'data', { signal: AbortSignal.timeout(5_000) })
  assert.equal(String(chunk), 'first words')
  socket.destroy()
})

test('user and password are sent unchanged, and the destination with its port, IPv6 too', async (t) => {
  const proxy = await connectProxy(t, {
    instead: (socket) => !socket.end('HTTP/1.1 407 No\r\n\r\n').writable,
  })
  for (const to of [
    'http://target.test',
    'https://target.test',
    'https://[2001:db8::1]',
    'http://[::2]:81',
  ]) {
    const [error] = await opening(t, proxy.url.replace('//', '//us%40er:p%3Ass%20w%C3%B6rt@'), new URL(to))
      .result
    assert.equal(error?.status, 407)
    assert.doesNotMatch(error.message, /us.*er|ss.*rt/)
  }
  assert.deepEqual(proxy.asked, ['target.test:80', 'target.test:443', '[2001:db8::1]:443', '[::2]:81'])
  const sent = `Basic ${Buffer.from('us@er:p:ss wört').toString('base64')}`
  assert.deepEqual(new Set(proxy.heads.map((head) => head['proxy-authorization'])), new Set([sent]))
})

test('T16: an endless header section and an endless body are cut off, and the connection is closed', async (t) => {
  const codeOf = async (proxy: string, to = plain) => {
    const [error] = await opening(t, proxy, to, 300).result
    return error !== null && 'code' in error && error.code
  }
  assert.equal(await codeOf(await saying(t, `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(17_000)}`)), 'EGRESS_PROXY')
  assert.equal(await codeOf(await saying(t, '220 mail.test ESMTP\r\n')), 'EGRESS_PROXY')

  const silent = await tcpListening(t)
  assert.equal(await codeOf(`http://127.0.0.1:${silent.port}`), 'EGRESS_PROXY_TIMEOUT')
  assert.equal(await codeOf(`https://127.0.0.1:${silent.port}`), 'EGRESS_PROXY_TIMEOUT')

  // One limit for all of it: here TLS with the destination never begins.
  const mute = await connectProxy(t, { to: silent.port })
  assert.equal(await codeOf(mute.url, new URL('https://target.test')), 'UND_ERR_CONNECT_TIMEOUT')
  const brief = await connectProxy(t, {
    instead: (socket) => !socket.end('HTTP/1.1 200 OK\r\n\r\n').writable,
  })
  assert.equal(await codeOf(brief.url, new URL('https://target.test')), 'ECONNRESET')

  await eventually(() => (silent.open + mute.open + brief.open === 0 ? true : undefined))
})

test('`cancel` and `close` leave no connection, at every step of an attempt', async (t) => {
  const silent = await tcpListening(t)
  const proxy = `http://127.0.0.1:${silent.port}`
  const through = (await connectProxy(t, { to: silent.port })).url
  const ways = [opening(t, proxy), opening(t, through, new URL('https://target.test'))]
  const closing = [opening(t, proxy), opening(t, through, new URL('https://target.test'))]
  await eventually(() => (silent.open === 4 ? true : undefined))

  for (const { giveUp } of ways) giveUp()
  for (const { tunnels } of closing) tunnels.close()
  for (const { result } of [...ways, ...closing]) assert.ok((await result)[0] instanceof Error)
  await eventually(() => (silent.open === 0 ? true : undefined))

  const late = new Promise((resolve) => closing[0]?.tunnels.open(plain, (...told) => resolve(told[0])))
  assert.ok((await late) instanceof Error)
  assert.equal(silent.hits, 4)
})

test('a proxy that refuses, is down or hangs has its own error', async (t) => {
  const refusing = await listening(t, (_request, response) => response.end())
  const hole = await tcpListening(t)
  const through = (url: string, timeout = 10_000) =>
    fetching(t, { environment: { https_proxy: url }, timeout })
  const hanging = through(`http://127.0.0.1:${hole.port}`, 300)

  for (const status of ['403 Forbidden', '100 Continue', '302 Found']) {
    const busy = await connectProxy(t, {
      instead: (socket) => socket.end(`HTTP/1.1 ${status}\r\n\r\n`).writable === false,
    })
    await failsWith('EGRESS_PROXY', through(busy.url).fetch('https://provider.test/'))
  }
  await failsWith('EGRESS_PROXY', through(refusing).fetch('https://provider.test/'))
  await failsWith(
    'EGRESS_PROXY',
    through(`http://127.0.0.1:${await freePort()}`).fetch('https://provider.test/'),
  )
  await failsWith('EGRESS_TIMEOUT', hanging.fetch('https://provider.test/'))

  await hanging.close()
})
