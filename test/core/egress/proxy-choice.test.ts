import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from 'sallyport'
import { createFetcher } from 'sallyport/toolkit'
import { connectProxy } from '#kit/connect-proxy.js'
import { failsWith, fetching, resolveToLoopback } from '#kit/egress.js'
import { freePort } from '#kit/free-port.js'
import { listening } from '#kit/listening.js'
import { authority, tlsListening } from '#kit/tls.js'

test('RS-23 T2: a private address and localhost are refused with a proxy too', async (t) => {
  const proxy = await connectProxy(t, { to: await freePort() })
  const { fetch } = fetching(t, {
    environment: { https_proxy: proxy.url, http_proxy: proxy.url },
  })
  const hosts = ['169.254.169.254', '10.0.0.1', '[::ffff:10.0.0.1]', '2130706433', 'localhost']

  for (const host of hosts) await failsWith('EGRESS_PRIVATE_ADDRESS', fetch(`https://${host}/`))
  assert.deepEqual(proxy.asked, [])
})

test('NO_PROXY excludes hosts, suffixes, ports and networks', async (t) => {
  const proxy = await connectProxy(t, { to: await freePort() })
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

test('a star in NO_PROXY excludes every host', async (t) => {
  const proxy = await connectProxy(t, { to: await freePort() })
  const environment = { https_proxy: proxy.url, no_proxy: 'exact.test,*' }
  const resolve = async () => []
  const { fetch } = fetching(t, { environment, resolve })

  await assert.rejects(fetch('https://provider.test/'))
  assert.deepEqual(proxy.asked, [])
})

test('NO_PROXY excludes a host in every spelling of the host and the URL', async (t) => {
  const proxy = await connectProxy(t, { to: await freePort() })
  const noProxy = 'a.Test.,.svc.cluster.local,bücher.test,FD00:0:0:0:0:0:0:1,[fd00:0:0::2]:8443'
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
  const environment = { https_proxy: proxy.url, no_proxy: noProxy }
  const hasty = fetching(t, { environment, allowPrivate: true, resolve, timeout: 300 })
  const direct = [
    ...['a.test:9443', 'A.TEST.:9443', 'idp.default.svc.cluster.local.:9443', 'xn--bcher-kva.test:9443'],
    ...['[fd00::1]:9443', '[FD00::2]:8443'],
  ]
  for (const host of direct) await assert.rejects(hasty.fetch(`https://${host}/`))
  assert.deepEqual(proxy.asked, [])
})

test('a plain http provider is reached without a proxy on loopback, whatever HTTP_PROXY says', async (t) => {
  const origin = await listening(t, (_request, response) => response.end('direct'))
  const proxy = await connectProxy(t, { to: await freePort() })
  const { fetch } = fetching(t, {
    environment: { HTTP_PROXY: proxy.url },
    allowPrivate: true,
  })

  assert.equal(await (await fetch(origin)).text(), 'direct')
  assert.deepEqual(proxy.asked, [])
})

test('T10: a proxy setting that is not a URL is refused without its value', () => {
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

test('an empty proxy variable counts as unset, and a proxy may be written without its scheme', async (t) => {
  const ours = authority(t)
  const port = await tlsListening(t, ours.issue(['provider.test']), (_request, response) => response.end())
  const proxy = await connectProxy(t, { to: port })
  const bare = proxy.url.replace('http://', '')
  const here = { allowPrivate: true, resolve: resolveToLoopback, caFile: ours.file }

  await fetching(t, {
    ...here,
    environment: { https_proxy: '', HTTPS_PROXY: bare },
  }).fetch('https://provider.test/')
  await fetching(t, { ...here, environment: { https_proxy: '' } }).fetch(`https://provider.test:${port}/`)

  assert.deepEqual(proxy.asked, ['provider.test:443'])
})
