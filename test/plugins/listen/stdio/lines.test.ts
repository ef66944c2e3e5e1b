import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import fc from 'fast-check'
import { listening } from '#kit/listening.js'
import { runs } from '#kit/runs.js'
import { ask, bridged } from './bridged.js'

const LARGE = 1024 * 1024

/** A target that responds to every request, and accepts everything else. */
const agreeable = (t: Parameters<typeof listening>[0]): Promise<string> =>
  listening(t, (request, response) => {
    void text(request).then((body) => {
      const { id }: { id?: unknown } = Object(JSON.parse(body))
      if (id === undefined) return response.writeHead(202).end()
      const answer = JSON.stringify({ jsonrpc: '2.0', id, result: { size: body.length } })
      return response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    })
  })

const isProtocol = (line: string): boolean => {
  const { jsonrpc, id, result, error }: Record<string, unknown> = Object(JSON.parse(line))
  return jsonrpc === '2.0' && id !== undefined && (result === undefined) !== (error === undefined)
}

test('whatever the input, the output is only JSON-RPC, and the next message gets its response', async (t) => {
  const bridge = bridged(t, await agreeable(t))
  const broken = fc.tuple(fc.json(), fc.nat(), fc.uint8Array({ maxLength: 4 })).map(([json, at, bytes]) => {
    const whole = Buffer.from(`{"jsonrpc":"2.0","id":"x","method":"m","params":${json}}`)
    const place = at % whole.length
    return Buffer.concat([whole.subarray(0, place), bytes, whole.subarray(place + bytes.length)])
  })
  const bytes = fc.uint8Array({ maxLength: 400 }).map((given) => Buffer.from(given))
  const json = fc.json().map((given) => Buffer.from(given))
  let id = 0
  const property = fc.asyncProperty(fc.oneof(bytes, json, broken), async (line) => {
    const before = bridge.lines.length
    const mine = `sane ${++id}`
    bridge.input.write(Buffer.concat([line, Buffer.from('\n')]))
    bridge.say(ask(mine, 'ping'))
    assert.ok((await bridge.heard(mine))['result'] !== undefined)
    for (const out of bridge.lines.slice(before)) assert.ok(isProtocol(out), out)
  })

  await fc.assert(property, { numRuns: runs(100) })
})

test('a large message is validated like a small one', async (t) => {
  const bridge = bridged(t, await agreeable(t))
  const pieces = fc.constantFrom('x', '\\\\', '\\"', '\\u00e9', '\\n', 'é', '/', '\\ud83d\\ude00')
  const faults = fc.constantFrom('', '', '\t', '\\x', '\\u12', '"', '\u0000')
  bridge.say(ask('first', 'ping'))
  await bridge.heard('first')
  let id = 0
  const property = fc.asyncProperty(pieces, pieces, faults, fc.nat(), async (one, other, fault, at) => {
    const mine = ++id
    const half = Math.ceil(LARGE / 2)
    const strings = [one.repeat(half / one.length), other.repeat(half), one]
    const pad = `${strings[at % 3]}${fault}${strings[(at + 1) % 3]}a`
    const line = `{"jsonrpc":"2.0","id":${mine},"method":"ping","params":{"pad":"${pad}"}}`
    const isJson = parses(line)
    const before = bridge.lines.length
    bridge.say(line, ask(`after ${mine}`, 'ping'))
    await bridge.heard(`after ${mine}`)

    const answered = isJson ? await bridge.heard(mine) : undefined
    const errors = bridge.lines.slice(before).filter((out) => JSON.parse(out).error?.code === -32_700)
    assert.equal(errors.length, isJson ? 0 : 1)
    assert.equal(answered?.['result'] !== undefined, isJson)
  })

  await fc.assert(property, { numRuns: 15 })
})

function parses(line: string): boolean {
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}
