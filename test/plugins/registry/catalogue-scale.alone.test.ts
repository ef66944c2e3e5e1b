import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, renameSync, writeSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { folder } from '../../kit/folder.js'
import { BASE, server } from './registry.js'

const SERVERS = 10_000
const VERSIONS = 10

const documentOf = (index: number, edition: number): string => {
  const id = Math.floor(index / VERSIONS)
  const version = `1.${index % VERSIONS}.0`
  const key = { name: 'API_KEY', description: 'the key', isRequired: true, isSecret: true }
  return JSON.stringify(
    server(`io.github.org${id % 500}/server-${id}`, version, {
      title: `Server ${id}`,
      repository: { url: `https://github.com/org${id % 500}/server-${id}`, source: 'github' },
      packages: [
        {
          registryType: 'npm',
          identifier: `@org/server-${id}`,
          version,
          transport: { type: 'stdio' },
          environmentVariables: [key],
        },
      ],
      remotes: [{ type: 'streamable-http', url: `https://s${id}.example.com/mcp`, headers: [key] }],
      _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { edition, note: 'x'.repeat(200) } },
    }),
  )
}

/** Every document is another one than in the edition before. */
function write(path: string, edition: number): void {
  const file = openSync(`${path}.new`, 'w')
  for (let id = 0; id < SERVERS; id++) {
    const documents = Array.from({ length: VERSIONS }, (_, at) => documentOf(id * VERSIONS + at, edition))
    writeSync(file, `${id === 0 ? '[' : ','}\n${documents.join(',\n')}`)
  }
  writeSync(file, '\n]')
  closeSync(file)
  renameSync(`${path}.new`, path)
}

const program = (path: string, stateDirectory: string): string => `
  import { serve, createLog } from 'sallyport'
  import { catalogue } from 'sallyport/builtin'
  const { addresses } = await serve([
    { use: 'listen/http', with: { address: '127.0.0.1:0' } },
    { use: 'internal/server', with: { address: '127.0.0.1:0' } },
    { use: 'auth/anonymous' },
    { use: 'source/file', with: { name: 'main', path: ${JSON.stringify(path)}, watch: false } },
    { use: 'registry/catalogue', with: {
      registries: [{ name: 'default', sources: ['main'] }],
      stateDirectory: ${JSON.stringify(stateDirectory)} } },
    { use: 'registry/api' },
  ], { catalogue, folder: '.', log: createLog({ level: 'silent' }) })
  while ((await fetch(addresses.internal + '/readiness')).status !== 200) await new Promise((go) => setTimeout(go, 20))
  const { user, system } = process.cpuUsage()
  process.send({ ...addresses, seconds: performance.now() / 1000, cpu: (user + system) / 1e6 })
  // The most it ever had, in bytes.
  process.on('message', () => process.send(process.resourceUsage().maxRSS * 1024))
`

const root = join(import.meta.dirname, '../../..')

/** As it is published: what compiles the source has a memory of its own. */
async function started(t: TestContext, path: string) {
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'ignore' })
  const child = spawn(
    process.execPath,
    ['--input-type=module', '--eval', program(path, join(path, '../state'))],
    { cwd: root, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
  )
  t.after(() => child.kill('SIGKILL'))
  const [facts] = await once(child, 'message')
  const mostMemory = async (): Promise<number> => {
    child.send('memory')
    const [bytes] = await once(child, 'message')
    return bytes / 1e6
  }
  return { ...(facts as Record<'main' | 'internal', string> & Record<'seconds' | 'cpu', number>), mostMemory }
}

const ROUNDS = 3
const LIMIT_MS = 5
// With nothing else on the machine, 99 of 100 answers without a sync take less. Where they do not, the machine is
// noisy: there 90 of 100 during a sync have to be within the limit, and the others no worse than without one.
const QUIET_MS = 2.5

test('100,000 versions: ready within 10 s, under 600 MB, and callers do not notice a sync', async (t) => {
  const path = join(folder(t), 'servers.json')
  write(path, 0)
  const { main, internal, seconds, cpu, mostMemory } = await started(t, path)
  t.diagnostic(`ready after ${seconds.toFixed(1)} s, with ${cpu.toFixed(1)} s of work`)
  // Work, and not the time on the wall: others may run beside it, and on a machine of its own the two are close.
  assert.ok(cpu < 10, `${cpu} s`)

  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const rounds: boolean[] = []
  for (let round = 1; round <= ROUNDS && !rounds.includes(true); round++) {
    write(path, round)
    await loaded(agent, main, setTimeout(1_000))
    const quiet = await loaded(agent, main, setTimeout(2_000))
    const sync = answered(`${internal}/sync/main`, 'POST')
    const during = await loaded(agent, main, sync)
    assert.equal(await sync, 200)
    t.diagnostic(`without a sync: ${told(quiet)}`)
    t.diagnostic(`while everything changes: ${told(during)}`)
    const [usual, most] = [worst(quiet, 0.99), worst(during, 0.99)]
    const bearable = usual >= QUIET_MS && most < 2 * usual && worst(during, 0.9) < LIMIT_MS
    rounds.push(most < LIMIT_MS || bearable)
  }
  const megabytes = await mostMemory()
  t.diagnostic(`${Math.round(megabytes)} MB at most, after ${rounds.length} rounds`)
  assert.ok(megabytes < 600, `${megabytes} MB`)
  assert.ok(rounds.includes(true), `a caller waits longer than ${LIMIT_MS} ms`)
})

const KINDS = {
  list: (round: number) => `${BASE}?limit=${1 + (round % 100)}`,
  search: (round: number) => `${BASE}?version=latest&search=server-${round % 997}`,
  get: (round: number) => `${BASE}/io.github.org${round % 500}%2Fserver-${round % 500}/versions/latest`,
}

/** How long one caller waits, answer by answer, until something else is over. */
async function loaded(agent: Agent, main: string, until: Promise<unknown>) {
  const times = { list: [] as number[], search: [] as number[], get: [] as number[] }
  let running = true
  void until.finally(() => {
    running = false
  })
  for (let round = 0; running; round++) {
    for (const kind of ['list', 'search', 'get'] as const) {
      const since = performance.now()
      assert.equal(await answered(main + KINDS[kind](round), 'GET', agent), 200)
      times[kind].push(performance.now() - since)
    }
  }
  return times
}

const part = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? 0

const worst = (load: Awaited<ReturnType<typeof loaded>>, share: number): number =>
  Math.max(...Object.values(load).map((times) => part(times, share)))

const told = (load: Awaited<ReturnType<typeof loaded>>): string =>
  Object.entries(load)
    .map(([kind, times]) => {
      const [half, p90, p99] = [0.5, 0.9, 0.99].map((share) => part(times, share).toFixed(2))
      return `${kind} ${times.length} times, p50 ${half} ms, p90 ${p90} ms, p99 ${p99} ms`
    })
    .join('; ')

const answered = (url: string, method: string, agent?: Agent): Promise<number> =>
  new Promise((resolve, reject) => {
    request(url, { method, agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
      .on('error', reject)
      .end()
  })
