import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Issuer } from '../kit/issuer.js'
import { type Contestant, memory, root, started } from './contestant.js'
import { load, type Measured, median } from './load.js'

// `npm run bench` measures the built package against the floor of the runtime, everything in one run and in turn,
// so that a noisy machine troubles all alike. `--quick` asks less of each. Ratios are what to look at.
const quick = process.argv.includes('--quick')
const asJson = process.argv.includes('--json')
const [ROUNDS, REQUESTS] = quick ? [3, 3_000] : [7, 12_000]

interface Row {
  readonly contestant: Contestant
  readonly method: 'GET' | 'POST'
  readonly against: string
}

const EXCHANGED = JSON.stringify({
  access_token: 'exchanged',
  issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  token_type: 'Bearer',
  expires_in: 3600,
})

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const bin = join(root, 'dist/cli/bin.js')
const home = mkdtempSync(join(tmpdir(), 'sallyport-bench-'))

if (!process.argv.includes('--no-build'))
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' })

const issuer = new Issuer('', 'RS256')
const issuing = createServer(issuer.listener)
await new Promise<void>((resolve) => issuing.listen(0, '127.0.0.1', resolve))
issuer.origin = `http://127.0.0.1:${(issuing.address() as AddressInfo).port}`
await issuer.rotate('bench')
const authorization = `Bearer ${await issuer.jwt({ exp: Math.floor(Date.now() / 1000) + 3600 })}`

const everything: Contestant[] = []
const start = async (...args: Parameters<typeof started>): Promise<Contestant> => {
  const contestant = await started(...args)
  everything.push(contestant)
  return contestant
}

try {
  report(await measured(await proxies(), await registries()))
} finally {
  for (const { process: child } of everything) child.kill()
  issuing.close()
  rmSync(home, { recursive: true, force: true })
}

async function proxies(): Promise<Row[]> {
  const target = await start('target', [join(root, 'test/bench/target.mjs')])
  const proxy = [bin, 'proxy', 'bench', `--target-uri=${target.url}/mcp`]
  const incoming = [
    `--oidc-issuer=${issuer.url}`,
    `--oidc-audience=${issuer.audience}`,
    '--oidc-allow-private-ip',
  ]
  const outgoing = [
    '--remote-auth-bearer-token=bench',
    '--remote-forward-headers=X-A=1',
    '--remote-forward-headers=X-B=2',
  ]
  const floor = await start('runtime floor', [join(root, 'test/bench/floor.mjs'), `${target.url}/mcp`])
  const plain = await start('proxy, nobody asked', proxy)
  const full = await start(
    'proxy, RS256 in, bearer and two headers out',
    [...proxy, ...incoming, ...outgoing],
    {
      headers: { authorization },
    },
  )
  // Asked for once, since all requests are of one caller: what is measured is the look at what is known.
  issuer.faults.set('/token', (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(EXCHANGED),
  )
  const exchange = [`--token-exchange-url=${issuer.origin}/token`, '--token-exchange-allow-private-ip']
  const exchanging = await start(
    'proxy, RS256 in, an exchanged token out',
    [...proxy, ...incoming, ...exchange],
    {
      headers: { authorization },
    },
  )
  return [floor, plain, full, exchanging].map((contestant) => ({
    contestant,
    method: 'POST',
    against: floor.name,
  }))
}

async function registries(): Promise<Row[]> {
  const servers = Array.from({ length: 10_000 }, (_, index) => ({
    name: `com.example/server-${index}`,
    description: `a server of the bench, number ${index}`,
    version: '1.0.0',
    remotes: [{ type: 'streamable-http', url: `https://mcp-${index}.example.com/mcp` }],
  }))
  writeFileSync(join(home, 'servers.json'), JSON.stringify(servers))
  writeFileSync(join(home, 'registry.json'), JSON.stringify(registryFile()))
  const one = `/servers/${encodeURIComponent('com.example/server-5000')}/versions/latest`
  const asked = { list: '/servers', search: '/servers?search=server-50', get: one }
  const rows: Row[] = []
  const registry = await start('registry', [bin, 'registry', '--config', join(home, 'registry.json')])
  for (const [name, path] of Object.entries(asked)) {
    const url = `${registry.url}/registry/default/v0.1${path}`
    const bytes = await start(`the same bytes as ${name}`, [join(root, 'test/bench/static.mjs'), url], {
      environment: { AUTHORIZATION: authorization },
    })
    const checked = { ...registry, name: `registry ${name}, RS256`, url, headers: { authorization } }
    for (const contestant of [bytes, checked]) rows.push({ contestant, method: 'GET', against: bytes.name })
  }
  return rows
}

function registryFile(): object {
  const { name, issuerUrl, audience, allowPrivateIP } = issuer.provider
  const providers = [{ name, issuerUrl, audience, allowPrivateIP }]
  return {
    address: '127.0.0.1:0',
    internalAddress: '127.0.0.1:0',
    stateDirectory: null,
    auth: { oauth: { resourceUrl: 'http://127.0.0.1/', providers } },
    sources: [{ name: 'own', file: { path: './servers.json' } }],
    registries: [{ name: 'default', sources: ['own'] }],
  }
}

/** Every row in turn, round after round; the first round warms up and does not count. */
async function measured(...groups: readonly (readonly Row[])[]): Promise<Map<Row, Measured[]>> {
  const results = new Map<Row, Measured[]>(groups.flat().map((row) => [row, []]))
  for (let round = 0; round <= ROUNDS; round++) {
    process.stderr.write(`round ${round} of ${ROUNDS}\n`)
    for (const [row, measurements] of results) {
      const once = await load(row.contestant, REQUESTS, row.method)
      if (round > 0) measurements.push(once)
    }
  }
  return results
}

function report(results: Map<Row, Measured[]>): void {
  const of = (measurements: readonly Measured[], figure: keyof Measured): number =>
    median(measurements.map((one) => one[figure]))
  const rows = [...results].map(([{ contestant, against }, measurements]) => {
    const floor = [...results].find(([row]) => row.contestant.name === against)?.[1] ?? []
    const ratios = measurements.map((one, round) => one.cpu / (floor[round]?.cpu ?? Number.NaN))
    return {
      name: contestant.name,
      cpuMicroseconds: of(measurements, 'cpu'),
      ratio: median(ratios),
      against,
      perSecond: of(measurements, 'perSecond'),
      p50: of(measurements, 'p50'),
      p99: of(measurements, 'p99'),
      megabytes: memory(contestant),
    }
  })
  if (asJson) {
    print(
      JSON.stringify(
        { node: process.version, cores: availableParallelism(), cpu: cpus()[0]?.model, rows },
        null,
        2,
      ),
    )
    return
  }
  print(
    `Node ${process.version}, ${availableParallelism()} cores; medians of ${ROUNDS} rounds of ${REQUESTS} requests, 16 at once`,
  )
  print(
    '| what | CPU a request | of its floor | requests/s | p50 | p99 | memory |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |',
  )
  for (const { name, cpuMicroseconds, ratio, perSecond, p50, p99, megabytes } of rows) {
    print(
      `| ${name} | ${cpuMicroseconds.toFixed(0)} µs | ${ratio.toFixed(2)} | ${perSecond.toFixed(0)} | ${p50.toFixed(2)} ms | ${p99.toFixed(2)} ms | ${megabytes.toFixed(0)} MB |`,
    )
  }
}
