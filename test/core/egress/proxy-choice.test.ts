import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, createFetcher } from 'sallyport'
import { connectProxy } from '../../kit/connect-proxy.js'
import { closedPort, failsWith, fetching, hereForAll, tcpListening } from '../../kit/egress.js'
import { listening } from '../../kit/listening.js'
import { authority, tlsListening } from '../../kit/tls.js'

test('HTTPS_PROXY is gone through, although it is private, and the certificate behind it is judged', async (t) => {
  const ours = authority(t)
  const port = await tlsListening(t, ours.issue(['provider.test']), (_request, response) =>
    response.end('through'),
  )
  const proxy = await connectProxy(t, { to: port })
  const environment = { HTTPS_PROXY: proxy.url }
  const trusting = fetching(t, { environment, caFile: ours.file })

  const response = await trusting.fetch('https://provider.test/keys?token=canary')

  assert.equal(await response.text(), 'through')
  assert.deepEqual(proxy.asked, ['provider.test:443'])
  await failsWith('EGRESS_TLS', fetching(t, { environment }).fetch('https://provider.test/'))
  await failsWith('EGRESS_TLS', trusting.fetch('https://other.test/'))
})

test('RS-23 T2: behind a proxy a private address and localhost are refused all the same', async (t) => {
  const proxy = await connectProxy(t, { to: await closedPort() })
  const { fetch } = fetching(t, {
    environment: { https_proxy: proxy.url, http_proxy: proxy.url },
  })
  const hosts = ['169.254.169.254', '10.0.0.1', '[::ffff:10.0.0.1]', '2130706433', 'localhost']

  for (const host of hosts) await failsWith('EGRESS_PRIVATE_ADDRESS', fetch(`https://${host}/`))
  assert.deepEqual(proxy.asked, [])
})

test('NO_PROXY names hosts, suffixes, ports and networks that are reached directly', async (t) => {
  const proxy = await connectProxy(t, { to: await closedPort() })
  const noProxy = 'exact.test, .suffix.test *.star.test,port.test:8443,10.0.0.0/8,fd00::/8,[fc00::1]:8443'
  const environment = { https_proxy: proxy.url, no_proxy: noProxy }
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
  const given = { environment, allowPrivate: true, resolve }
  // Some of these addresses never answer.
  const hasty = fetching(t, { ...given, timeout: 300 })
  const { fetch } = fetching(t, given)
  const direct = [
    ...[
      'exact.test:9443',
      'a.exact.test:9443',
      'a.suffix.test:9443',
      'a.star.test:9443',
      'port.test:8443',
      '10.1.2.3',
      '[fd00::1]',
    ],
    ...['[fc00::1]:8443', 'localhost:9443', '127.0.0.1:9443', '[::1]:9443'],
  ]
  const proxied = ['inexact.test:9443', 'port.test:9443', '11.1.2.3:443', '[fc00::1]:9443']

  for (const host of direct) await assert.rejects(hasty.fetch(`https://${host}/`))
  assert.deepEqual(proxy.asked, [])
  for (const host of proxied) await assert.rejects(fetch(`https://${host}/`))
  assert.deepEqual(proxy.asked, ['inexact.test:9443', 'port.test:9443', '11.1.2.3:443', '[fc00::1]:9443'])
})

test('a plain http provider is reached without a proxy on loopback, whatever HTTP_PROXY says', async (t) => {
  const origin = await listening(t, (_request, response) => response.end('direct'))
  const proxy = await connectProxy(t, { to: await closedPort() })
  const { fetch } = fetching(t, {
    environment: { HTTP_PROXY: proxy.url },
    allowPrivate: true,
  })

  assert.equal(await (await fetch(origin)).text(), 'direct')
  assert.deepEqual(proxy.asked, [])
})

test('a proxy that refuses, is away or hangs has its own failure', async (t) => {
  const refusing = await listening(t, (_request, response) => response.end())
  const hole = await tcpListening(t)
  const through = (url: string) => fetching(t, { environment: { https_proxy: url }, timeout: 300 })
  const hanging = through(`http://127.0.0.1:${hole.port}`)

  const busy = await connectProxy(t, {
    instead: (socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n').writable === false,
  })
  await failsWith('EGRESS_PROXY', through(busy.url).fetch('https://provider.test/'))
  await failsWith('EGRESS_PROXY', through(refusing).fetch('https://provider.test/'))
  await failsWith(
    'EGRESS_PROXY',
    through(`http://127.0.0.1:${await closedPort()}`).fetch('https://provider.test/'),
  )
  await failsWith('EGRESS_TIMEOUT', hanging.fetch('https://provider.test/'))

  await hanging.close()
})

test('T10: a proxy setting that is no URL is refused without its value', () => {
  for (const value of [
    'socks5://user:canary@proxy.test',
    'http://user:canary@',
    'http://user:canary%@proxy.test',
  ]) {
    assert.throws(
      () => createFetcher({ environment: { HTTPS_PROXY: value } }),
      (error: Error) => error instanceof ConfigError && !/canary/.test(error.message),
    )
  }
})

test('an empty proxy variable is none, and a proxy may be written without its scheme', async (t) => {
  const ours = authority(t)
  const port = await tlsListening(t, ours.issue(['provider.test']), (_request, response) => response.end())
  const proxy = await connectProxy(t, { to: port })
  const bare = proxy.url.replace('http://', '')
  const here = { allowPrivate: true, resolve: hereForAll, caFile: ours.file }

  await fetching(t, {
    ...here,
    environment: { https_proxy: '', HTTPS_PROXY: bare },
  }).fetch('https://provider.test/')
  await fetching(t, { ...here, environment: { https_proxy: '' } }).fetch(`https://provider.test:${port}/`)

  assert.deepEqual(proxy.asked, ['provider.test:443'])
})
