import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { OptionType } from '#cli/line/option.js'
import { readOption } from '#cli/line/read.js'
import { durationText, parseDuration } from '#core/toolkit/duration-text.js'
import { parsePort } from '#core/toolkit/host-port.js'

function read(type: OptionType, text: string) {
  return readOption({ name: 'x', type, help: '' }, [text])
}

test('durations are whole numbers with units from large to small', () => {
  assert.equal(parseDuration('30s'), 30_000)
  assert.equal(parseDuration('1m'), 60_000)
  assert.equal(parseDuration('2m30s'), 150_000)
  assert.equal(parseDuration('500ms'), 500)
  assert.equal(parseDuration('1m500ms'), 60_500)
  assert.equal(parseDuration('1h'), 3_600_000)
  assert.equal(parseDuration('0'), 0)
})

test('a text that only resembles a duration is refused', () => {
  for (const text of [
    '',
    '30',
    '-1s',
    '1.5s',
    '30s2m',
    '1s1s',
    ' 1s',
    '1s ',
    '1S',
    '1d',
    'm',
    '9999999999999h',
  ]) {
    assert.equal(parseDuration(text), undefined, text)
  }
})

test('every written duration is read back as the same value', () => {
  fc.assert(
    fc.property(fc.nat({ max: 10 ** 12 }), (duration) => {
      assert.equal(parseDuration(durationText(duration)), duration)
    }),
  )
})

test('a port has only digits', () => {
  assert.equal(parsePort('0'), 0)
  for (const text of ['', '-1', '65536', '8e1', '0x50', '80.0', ' 80', '999999']) {
    assert.equal(parsePort(text), undefined, text)
  }
})

test('a URL is kept as it was written', () => {
  for (const text of ['https://idp.example', 'https://idp.example/', 'HTTP://[::1]:8080/a?b=c']) {
    assert.equal(read('url', text), text)
  }
})

test('a URL that URL parsers would repair is refused', () => {
  const wrong = [
    'idp.example',
    'ftp://a',
    'https:/a',
    'https:a',
    'https://',
    ' https://a',
    'https://a b',
    'https://a\\b',
  ]
  const unsafe = [
    'https://user:hunter2@a',
    'https://user@a',
    'https://a/#fragment',
    'https://a\n',
    'https://a:99999',
  ]
  for (const text of [...wrong, ...unsafe, '']) assert.equal(read('url', text), undefined, text)
})

test('whole numbers have no sign, point or exponent', () => {
  assert.equal(read('int', '12'), 12)
  for (const text of ['-1', '1.0', '1e3', '', '99999999999999999999'])
    assert.equal(read('int', text), undefined, text)
  assert.equal(readOption({ name: 'x', type: 'int', min: 1, help: '' }, ['0']), undefined)
})
