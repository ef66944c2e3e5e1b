import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { closedPort, listening } from 'sallyport/testing'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listen } from '#kit/plugin.js'
import { startedProgram } from '#kit/started-program.js'
import { BASE, registryOf, server } from '../registry/registry.js'

const good = JSON.stringify([server('a.example/good', '1.0.0')])
const stdio = { registryType: 'npm', identifier: 'x', transport: { type: 'stdio' } }
const heavy = (count: number) =>
  server('a.example/heavy', '1.0.0', {
    packages: [{ ...stdio, packageArguments: Array(count).fill(1) }],
  })

/** The contents of each source, and the error or status of its sync. */
const sources: Readonly<Record<string, readonly [content: string, told: RegExp | number]>> = {
  'yaml.yaml': [`- 1\n${Array.from({ length: 60_000 }, (_, at) => `- k: ${at}\n`).join('')}`, /are refused/],
  'deep.yaml': [`a: ${'['.repeat(300_000)}`, /nested too deeply/],
  'values.json': [JSON.stringify([heavy(9_000), ...JSON.parse(good)]), 200],
  'more.json': [JSON.stringify([heavy(100_000), ...JSON.parse(good)]), 200],
}

test('requests do not wait while any source is parsed', { timeout: 200_000 }, async (t) => {
  const root = folder(t)
  for (const name of Object.keys(sources)) writeFileSync(join(root, name), good)
  let page = `{"servers":${good}}`
  const remoteUrl = await listening(t, (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(page),
  )
  const names = Object.keys(sources)
  const files = names.map((name) => ({
    use: 'source/file',
    id: name,
    with: { name, path: join(root, name), watch: false },
  }))
  const remote = {
    use: 'source/http',
    with: { name: 'remote', url: remoteUrl, allowPrivateIP: true, wholeEvery: 0 },
  }
  const internal = await closedPort()
  const list = registryOf([...files, remote], [...names, 'remote'])
  const config = join(root, 'sallyport.json')
  const inner = { use: 'internal/server', with: { address: new URL(internal).host } }
  const plugins = [listen, inner, ...list.filter(({ use }) => use !== inner.use)]
  writeFileSync(config, JSON.stringify({ plugins }))
  const gateway = startedProgram(t, ['run', `--config=${config}`], { patience: 60 })
  const url = await gateway.ready()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  await eventually(async () => (await timed(`${url}${BASE}`, agent)).status === 200, 60)

  for (const [name, [content]] of Object.entries(sources)) writeFileSync(join(root, name), content)
  page = `{"servers":[${'{},'.repeat(5_000_000)}{}]}`
  const times: number[] = []
  for (const [name, told] of [
    ...names.map((each) => [each, sources[each]?.[1]] as const),
    ['remote', /more than the 100/] as const,
  ]) {
    let done = false
    const sync = fetch(`${internal}/sync/${name}`, { method: 'POST' }).finally(() => {
      done = true
    })
    let longest = 0
    while (!done) {
      const { status, milliseconds } = await timed(`${url}${BASE}`, agent)
      assert.equal(status, 200)
      times.push(milliseconds)
      longest = Math.max(longest, milliseconds)
      await setTimeout(1)
    }
    const answer = await sync
    t.diagnostic(`${name}: longest ${longest.toFixed(1)} ms`)
    if (typeof told === 'number') assert.equal(answer.status, told)
    else assert.match(await answer.text(), told ?? /never/)
    // Generous, since other processes may use the machine; parsed without a pause, it took seconds.
    assert.ok(longest < 1_000, `${name}: ${longest} ms`)
  }
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0
  t.diagnostic(`${times.length} answers, p99 ${p99.toFixed(1)} ms`)
  assert.ok(p99 < 50, `${p99} ms`)
})

async function timed(url: string, agent: Agent) {
  const since = performance.now()
  const status = await new Promise<number | undefined>((resolve, reject) => {
    get(url, { agent }, (response) => response.resume().on('end', () => resolve(response.statusCode))).on(
      'error',
      reject,
    )
  })
  return { status, milliseconds: performance.now() - since }
}
