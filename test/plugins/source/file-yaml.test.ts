import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { booted } from 'sallyport/testing'
import { readYaml } from 'sallyport/toolkit'
import { stringify } from 'yaml'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listen } from '#kit/plugin.js'
import { program } from '#kit/program.js'
import { runs } from '#kit/runs.js'
import { BASE, idsIn, internalRoutes, type ListBody, registryOf, server } from '../registry/registry.js'

const { signal } = new AbortController()

const DEEP = `- name: a.example/a\n  version: "1.0.0"\n  description: d\n  x: ${'['.repeat(5_000)}`

const nestings: Readonly<Record<string, (depth: number) => string>> = {
  'flow lists': (depth) => `a: ${'['.repeat(depth)}`,
  'closed flow lists': (depth) => `a: ${'['.repeat(depth)}${']'.repeat(depth)}`,
  'flow mappings': (depth) => '{a: '.repeat(depth),
  'block mappings': (depth) => Array.from({ length: depth }, (_, at) => `${' '.repeat(at)}a:`).join('\n'),
  'block lists': (depth) => '- '.repeat(depth),
  'explicit keys': (depth) => '? '.repeat(depth),
  'keys that are lists': (depth) => '? ['.repeat(depth),
  aliases: (depth) =>
    Array.from({ length: depth }, (_, at) => `- &a${at} [${at === 0 ? 1 : `*a${at - 1}`}]`).join('\n'),
}

test('deep nesting of every form is refused, and never ends the process', async () => {
  for (const [form, nested] of Object.entries(nestings)) {
    const { json, fault = '' } = await readYaml([Buffer.from('[1.0]'), Buffer.from(nested(2_000))], signal)
    assert.equal(String(json), '[1.0]', form)
    assert.match(fault, /nested too deeply|aliases multiply/, form)
  }
})

test('any text is either read or refused with a reason', async () => {
  const texts = fc.sample(
    fc.oneof(
      fc.string({ unit: fc.constantFrom(...Array.from('[]{}:-?&*!|>\'"%@`#,a1 \n\t~<')), maxLength: 200 }),
      fc.jsonValue().map((value) => stringify(value)),
      fc
        .array(
          fc.tuple(fc.constantFrom('[', '{a: ', '- ', '? ', '? [', '&a ', '"', '\n ', '!t '), fc.nat(3_000)),
        )
        .map((parts) => parts.map(([part, times]) => part.repeat(times)).join('')),
    ),
    { numRuns: runs(40), seed: 3 },
  )
  for (let at = 0; at < texts.length; ) {
    const { each, stopped } = await readYaml(
      texts.slice(at).map((text) => Buffer.from(text)),
      signal,
    )
    for (const result of each) {
      if ('json' in result) JSON.parse(result.json.toString('utf8'))
      else assert.match(result.fault, FAULT)
    }
    if (stopped === undefined) break
    assert.match(stopped, /memory/)
    at += each.length + 1
  }
})

const FAULT = /^not YAML|nested too deeply|aliases|second time|cannot be read/

test('aliases that multiply, unknown aliases, several documents, and too many bytes are refused', async () => {
  const names = Array.from('abcdefghij')
  const laughs = names.map((name, at) => {
    const inner = at === 0 ? 'x' : `*${names[at - 1]}`
    return `${name}: &${name} [${Array.from({ length: 9 }, () => inner).join()}]`
  })
  const wrong = [laughs.join('\n'), 'a: *nowhere', '---\na\n---\nb\n', 'x'.repeat(9 * 1024 ** 2)]
  for (const [at, text] of wrong.entries()) {
    const { json, fault } = await readYaml([Buffer.from(text)], signal)
    assert.equal(json.length, 0, String(at))
    assert.ok(fault !== undefined && fault.length < 100, fault)
  }
})

test('a malformed text does not affect the texts after it, and too many bytes stop the reading', async () => {
  const texts = ['[1.0]', 'a: [', '{b: 2}'].map((text) => Buffer.from(text))
  const { json, each, stopped } = await readYaml(texts, signal)
  assert.deepEqual(json.map(String), ['[1.0]'])
  assert.deepEqual(
    each.map((result) => ('json' in result ? String(result.json) : /not YAML at line/.test(result.fault))),
    ['[1.0]', true, '{"b":2}'],
  )
  assert.equal(stopped, undefined)
  const second = await readYaml([...texts, Buffer.alloc(9 * 1024 ** 2, 'x')], signal)
  assert.equal(second.each.length, 3)
  assert.match(second.stopped ?? '', /MiB of YAML/)
})

test('an abort ends the process that parses', async () => {
  const ending = new AbortController()
  const reading = readYaml([Buffer.from('- 1\n'.repeat(1_000_000))], ending.signal)
  ending.abort(new Error('enough'))
  await assert.rejects(reading, /enough/)
})

for (const name of ['servers.yaml', 'folder']) {
  test(`a restart with a malicious ${name} serves the last good state`, async (t) => {
    const root = folder(t)
    const good = JSON.stringify([server('a.example/good', '1.0.0')])
    const files = name === 'folder' ? folder(t, { 'a.yaml': good }) : root
    const path = name === 'folder' ? files : join(root, name)
    const file = name === 'folder' ? join(files, 'a.yaml') : path
    writeFileSync(file, good)
    const source = { use: 'source/file', with: { name: 'own', path, watch: false } }
    const list = [...registryOf([source], ['own'], { stateDirectory: join(root, 'state') }), internalRoutes]
    const before = await booted(t, list)
    await before.inject({ method: 'POST', url: '/internal/sync/own' })

    writeFileSync(file, DEEP)
    for (const app of [before, await booted(t, list)]) {
      const answer = await app.inject({ method: 'POST', url: '/internal/sync/own' })
      assert.match(answer.json().error_description, /nested too deeply/)
      assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/good@1.0.0'])
    }
  })
}

test('the program starts with a malicious file, serves the last good state and keeps running', async (t) => {
  const root = folder(t)
  const path = join(root, 'servers.yaml')
  const config = join(root, 'sallyport.yaml')
  writeFileSync(
    config,
    JSON.stringify({
      plugins: [
        listen,
        ...registryOf([{ use: 'source/file', with: { name: 'own', path, watch: false } }], ['own'], {
          stateDirectory: join(root, 'state'),
        }),
      ],
    }),
  )
  const served = async (texts: string): Promise<void> => {
    writeFileSync(path, texts)
    const gateway = program(t, ['run', `--config=${config}`], { patience: 60 })
    const url = await gateway.ready()
    const body = await eventually(async () => {
      const answer = await fetch(`${url}${BASE}`)
      return answer.status === 200 ? ((await answer.json()) as ListBody) : undefined
    }, 60)
    assert.deepEqual(idsIn(body), ['a.example/good@1.0.0'])
    if (texts === DEEP) await gateway.until(/nested too deeply/)
    gateway.stop()
    assert.equal(await gateway.ended(), 0)
  }
  await served(JSON.stringify([server('a.example/good', '1.0.0')]))
  await served(DEEP)
})
