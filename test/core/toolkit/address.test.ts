import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isLoopbackHost, isPublicAddress } from 'sallyport/toolkit'
import { runs } from '#kit/runs.js'

const words = fc.array(fc.integer({ min: 0, max: 0xffff }), {
  minLength: 8,
  maxLength: 8,
})
const ipv6 = (parts: readonly number[]) => parts.map((part) => part.toString(16)).join(':')

test('only globally reachable addresses are public', () => {
  const open = ['8.8.8.8', '1.1.1.1', '172.15.0.1', '172.32.0.1', '2001:4860:4860::8888', '2606:4700::1111']
  const shut = [
    ...['0.0.0.0', '10.0.0.1', '100.64.0.1', '127.0.0.1', '127.255.255.255', '169.254.169.254', '172.16.0.1'],
    ...['192.0.0.1', '192.168.0.1', '198.18.0.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
    ...[
      '::',
      '::1',
      'fe80::1',
      'fe80::1%eth0',
      'fc00::1',
      'fd00:ec2::254',
      'fec0::1',
      'ff02::1',
      '2001:db8::1',
    ],
    ...['::127.0.0.1', '64:ff9b:1::7f00:1', '100::1', '4000::1', 'localhost', 'example.com', ''],
  ]

  assert.deepEqual(
    open.filter((address) => !isPublicAddress(address)),
    [],
  )
  assert.deepEqual(shut.filter(isPublicAddress), [])
})

test('RS-23 T2: an IPv6 address that embeds an IPv4 address is as public as that one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0, max: 0xffff }), (high, low) => {
      const plain = isPublicAddress([high >> 8, high & 255, low >> 8, low & 255].join('.'))
      const inside = [
        [0, 0, 0, 0, 0, 0xffff, high, low],
        [0, 0, 0, 0, 0xffff, 0, high, low],
        [0x64, 0xff9b, 0, 0, 0, 0, high, low],
        [0x2002, high, low, 0, 0, 0, 0, 1],
        [0x2001, 0, 0x0808, 0x0808, 0, 0, high ^ 0xffff, low ^ 0xffff],
        [0x2001, 0, high, low, 0, 0, 0x0808 ^ 0xffff, 0x0808 ^ 0xffff],
      ]
      assert.deepEqual(
        inside.map((parts) => isPublicAddress(ipv6(parts))),
        inside.map(() => plain),
      )
    }),
    {
      numRuns: runs(2_000),
      examples: [
        [0x7f00, 1],
        [0xa9fe, 0xa9fe],
        [0x0a00, 1],
        [0x0808, 0x0808],
      ],
    },
  )
})

test('RS-23: an IPv6 address outside the allocated space is never public', () => {
  fc.assert(
    fc.property(words, ([first = 0, ...rest]) => {
      const outside = first >> 13 === 1 ? first & 0x1fff : first
      if (outside === 0 || outside === 0x64) return
      assert.equal(isPublicAddress(ipv6([outside, ...rest])), false)
    }),
  )
})

test('only this machine reaches a loopback address or localhost; any other name may resolve elsewhere', () => {
  for (const host of ['localhost', 'LocalHost', '127.0.0.1', '127.9.8.7', '::1', '0:0:0:0:0:0:0:1']) {
    assert.equal(isLoopbackHost(host), true, host)
  }
  for (const host of [
    '',
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '127.0.0.999',
    '127.1',
    '[::1]',
    'localhost.example',
    'a.localhost',
    '127.0.0.1.example',
  ]) {
    assert.equal(isLoopbackHost(host), false, host)
  }
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.domain(), fc.ipV4(), fc.ipV6()), (host) => {
      if (isLoopbackHost(host)) assert.match(host, /^(?:localhost|127\..*|[0:.]*:(?:[0.]*)0*1)$/i)
    }),
  )
})
