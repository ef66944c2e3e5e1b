import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { PolicyCaller } from 'sallyport'
import { ListFilter } from '#core/mcp/list-filter.js'
import { runs } from '#kit/runs.js'
import { hiding } from '../../plugins/forward/hiding.js'

const lists = new ListFilter([hiding], 0)

const filter = async (message: Buffer | string): Promise<string> =>
  String(
    await lists.filter(
      Buffer.from(message),
      { identity: undefined, request: {} } as PolicyCaller,
      () => false,
    ),
  )

test('everything that a client could take for a list is filtered: repeated, escaped, or in another case', async () => {
  const hidden = '[{"name":"x","uri":"x"}]'
  for (const member of [
    ...['tools', 'Tools', 'TOOLS', 'tool\u017f', '\\u0074ools', 'too\\u006c\\u017F', 'T\\u004fOLs'],
    ...['prompts', 'PROMPT\u017f', 'resources', 're\u017fource\u017f', 'Re\\u0053ources'],
    ...['skills', 's\u212aills', 'S\u212aILL\u017f', '\\u0073\\u212Aills'],
    ...['resourcetemplates', 'RESOURCETEMPLATES', 'resourceTemplate\u017f'],
  ]) {
    for (const outer of ['result', 'Result', 'RE\u017fULT', '\\u0072esult']) {
      assert.equal(await filter(`{"${outer}":{"${member}":${hidden}}}`), `{"${outer}":{"${member}":[]}}`)
    }
  }
  const twice = (list: string): string =>
    `{"result":{},"result":{"tools":[],"a":{},"tools":${list}},"result":1}`
  assert.equal(await filter(twice(hidden)), twice('[]'))
  assert.equal(await filter(`\ufeff[{"result":{"tools":${hidden}}}]`), '\ufeff[{"result":{"tools":[]}}]')
})

test('an object instead of a list is refused', async () => {
  for (const member of ['tools', 'resources', 's\u212aills'])
    for (const value of ['{"0":{"name":"x"}}', '{}'])
      await assert.rejects(async () => filter(`{"result":{"${member}":${value}}}`), {
        code: 'RESPONSE_MALFORMED',
      })
  for (const text of ['{"result":{"tools":null}}', '{"result":{"a":{"tools":{}}}}', '{"tools":{}}'])
    assert.equal(await filter(text), text)
})

test('an item is listed by its one member of the right name, and cut without it', async () => {
  for (const item of [
    ...['{"name":"a","name":"x"}', '{"name":"x","name":"a"}', '{"name":"a","name":"a"}'],
    ...['{"name":"a","Name":"x"}', '{"Name":"a"}', '{"name":"a","\\u006eame":"x"}', '{"name":["a"]}'],
    ...[
      '{"name":{"name":"a"}}',
      '{"a":{"name":"a"}}',
      '"a"',
      '[{"name":"a"}]',
      '{"uri":"a"}',
      '{"name":null}',
    ],
  ]) {
    assert.equal(await filter(`{"result":{"tools":[${item}]}}`), '{"result":{"tools":[]}}', item)
  }
  const known = '{"result":{"tools":[{"na\\u006de":"\\u0061","title":"x","annotations":{"name":"x"}}]}}'
  assert.equal(await filter(known), known)
})

test('text that is not JSON is refused, as JSON.parse does', async () => {
  const code = 'RESPONSE_MALFORMED'
  for (const text of [
    ...[
      '{',
      '[',
      '{]',
      '[}',
      '{"a"}',
      '{"a":}',
      '{"a":1,}',
      '[1,]',
      '[,1]',
      '{,}',
      '{}{}',
      '[1 2]',
      '{"a":1 "b":2}',
    ],
    ...[
      '[01]',
      '[1.]',
      '[.1]',
      '[-]',
      '[+1]',
      '[1e]',
      '[1e+]',
      '[NaN]',
      '[tru]',
      '[nulll]',
      '[True]',
      "['a']",
    ],
    ...[
      '["\t"]',
      '["\\x"]',
      '["\\u12g4"]',
      '["\\u1',
      '["',
      '["\\',
      '{a:1}',
      '[1]//',
      '/**/[1]',
      '[1]\u00a0',
      '[1]\0',
    ],
  ]) {
    assert.throws(() => JSON.parse(text))
    await assert.rejects(filter(text), { code }, text)
  }
  for (const bytes of [
    Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]),
    Buffer.from([0x5b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x5d]),
    Buffer.from('{"result":{"tools":[{"name":"x"}]}}', 'utf16le'),
  ]) {
    await assert.rejects(filter(bytes), { code })
  }
})

test('the reader accepts random bytes exactly when JSON.parse does', async () => {
  const piece = fc.constantFrom(
    ...Array.from('[]{},:"\\ 0123-+.eEu/ntrfalse'),
    'true',
    'null',
    '"a":',
    '\\u00e9',
    '1e5',
    '\n',
  )
  const run = fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
    for (const text of [`[${pieces.join('')}]`, `{"a":${pieces.join('')}}`]) {
      const isJson = await Promise.resolve(text)
        .then(JSON.parse)
        .then(
          () => true,
          () => false,
        )
      assert.equal(
        await filter(text).then(
          () => true,
          () => false,
        ),
        isJson,
        text,
      )
    }
  })
  await fc.assert(run, { numRuns: runs(3000) })
})

test('5,000 levels are read, and a hostile number of levels or lists is refused', async () => {
  const deep = (levels: number): string => `{"result":{"content":${'['.repeat(levels)}${']'.repeat(levels)}}}`
  assert.equal(await filter(deep(5_000)), deep(5_000))
  await assert.rejects(filter(deep(1_000_000)), { code: 'RESPONSE_MALFORMED' })

  const lists = '{"result":{"tools":[{}]}},'.repeat(100_000)
  await assert.rejects(filter(`[${lists}1]`), { code: 'RESPONSE_MALFORMED' })
})
