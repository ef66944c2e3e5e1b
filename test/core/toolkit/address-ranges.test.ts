import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AddressRanges, addressRange, normalizedAddress } from 'sallyport/toolkit'

test('every spelling of an address has the same canonical form', () => {
  const forms: readonly (readonly [string, string | undefined])[] = [
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::FFFF:0a00:1', '10.0.0.1'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['010.0.0.1', undefined],
    ['10.1', undefined],
    ['0x7f000001', undefined],
    ['localhost', undefined],
    ['', undefined],
  ]
  for (const [text, expected] of forms) assert.equal(normalizedAddress(text), expected, text)
})

test('ranges hold the addresses of both families, also mapped ones, and nothing else', () => {
  const ranges = new AddressRanges(['10.1.2.3/8', '192.0.2.7', 'fd00::/8', '::ffff:172.16.0.0/108'])
  for (const inside of ['10.255.0.1', '192.0.2.7', 'fd12::1', '172.31.255.255'])
    assert.equal(ranges.includes(inside), true, inside)
  for (const outside of ['11.0.0.1', '192.0.2.8', 'fe80::1', '172.32.0.0', '::1'])
    assert.equal(ranges.includes(outside), false, outside)
})

test('a text that is no range is refused, and adds no address', () => {
  const option = addressRange()
  for (const right of ['10.0.0.0/8', '10.0.0.1', '::1', '::/0', '0.0.0.0/0', '::ffff:10.0.0.0/104'])
    assert.equal(option.safeParse(right).success, true, right)
  const wrong = [
    '10.0.0.0/99',
    '10.0.0.0/',
    '10.0.0/8',
    '/8',
    'fd00::/129',
    '::ffff:10.0.0.0/95',
    'loopback',
    '',
  ]
  for (const text of [...wrong, '10.0.0.0/-1', '10.0.0.0/8/8', ' 10.0.0.1', 'fe80::1%eth0/64'])
    assert.equal(option.safeParse(text).success, false, text)
})

test('no text and no pair of texts throws', () => {
  const text = fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.ipV4Extended())
  fc.assert(
    fc.property(text, fc.nat(200), text, (base, bits, asked) => {
      const ranges = new AddressRanges([base, `${base}/${bits}`])
      const address = normalizedAddress(asked)
      if (address !== undefined) assert.equal(typeof ranges.includes(address), 'boolean')
      const own = normalizedAddress(base)
      if (own !== undefined) assert.equal(ranges.includes(own), !base.includes('%'))
    }),
  )
})
