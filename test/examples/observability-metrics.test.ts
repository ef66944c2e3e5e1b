import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { issuing } from 'sallyport/testing'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { type OpenMetricsSample, readOpenMetrics } from '#kit/open-metrics.js'
import { program } from '#kit/program.js'
import { spawned } from '#kit/spawned.js'
import { authority, secureListener } from '#kit/tls.js'
import { instrumentsInSource } from '../docs/source.js'
import { startAuthorizationServer } from '../plugins/credential/oauth/authorization-server.js'
import { loginEntries, signInUser } from '../plugins/credential/oauth/proxy-with-login.js'
import { groupedBy, pathOf, queries, selectorsIn, textOf } from './observability-files.js'

/** Metric names with their labels. */
type Metrics = Map<string, Set<string>>

const ISSUER = 'http://dex:5556/dex'
const COLLECTOR = 'http://collector:4318'

// These metrics count accidents, which do not happen here; other tests cover them.
const ACCIDENTS = ['sallyport_log_lines_dropped_total']

test('the gateways of the example serve every metric and label that the dashboard and the alerts use', async (t) => {
  const metrics: Metrics = new Map()
  const issuer = await issuing(t)
  const home = folder(t, { 'servers.json': textOf('../compose/servers.json') })
  let exported = ''
  const collector = await listening(t, (request, response) => {
    request.on('data', (chunk) => {
      exported += String(chunk)
    })
    request.on('end', () => response.setHeader('content-type', 'application/json').end('{}'))
  })
  const started = async (file: string, argv: readonly string[], target = '') => {
    const text = textOf(file)
      .replaceAll(ISSUER, issuer.url)
      .replaceAll(COLLECTOR, collector)
      .replaceAll('http://server:9000', target)
      .replaceAll('/var/log/sallyport/audit.jsonl', join(home, `${file}.jsonl`))
    writeFileSync(join(home, file), text)
    const anywhere = { SALLYPORT_INSECURE_HTTP: '1', SALLYPORT_INTERNAL_ADDRESS: '127.0.0.1:0' }
    const running = program(t, [...argv, '--config', join(home, file)], { environment: anywhere })
    const main = await running.ready()
    const [, internal = ''] = /metrics on (http:\S+)\)/.exec(running.output.stdout) ?? []
    return { main, internal }
  }
  const target = await mcpServer(t)
  const loopback = ['--host', '127.0.0.1', '--port', '0']
  const proxy = await started('proxy.yaml', ['proxy', 'notes', ...loopback], target)
  const registry = await started('sallyport.yaml', ['registry', '--address', '127.0.0.1:0'])

  // The claims of an access token of Dex.
  const token = await issuer.jwt({ aud: 'sallyport', sub: 'me', at_hash: 'x' }, { typ: undefined })
  const foreign = await issuer.jwt({ aud: 'another', sub: 'me' })
  assert.deepEqual(
    await Promise.all([undefined, foreign, token].map((each) => listed(registry.main, each))),
    [401, 401, 200],
  )
  assert.equal(await called(proxy.main, foreign, 'tools/list'), 401)
  assert.equal(await called(proxy.main, token, 'tools/list'), 200)
  for (const tool of ['roll', 'wait', 'fail'])
    assert.equal(await called(proxy.main, token, 'tools/call', tool), 200, tool)
  assert.equal(await called(proxy.main, token, 'tools/call', 'read_secrets'), 403)

  const samples = await read(proxy.internal, metrics)
  await read(registry.internal, metrics)
  const ofCall = samples.find(
    ({ name, exemplar }) => exemplar !== undefined && name.includes('mcp_server_operation_'),
  )
  const traceId = ofCall?.exemplar?.labels['trace_id'] ?? assert.fail('no exemplar')
  assert.match(traceId, /^[\da-f]{32}$/)
  await eventually(() => exported.includes(traceId), 20)
  await read(await signedIn(t), metrics)
  for (const { name, labels } of instrumentsInSource())
    if (ACCIDENTS.includes(name)) metrics.set(name, new Set(labels))

  for (const { where, expr, named } of queries) {
    const selectors = selectorsIn(expr)
    assert.ok(selectors.length > 0, `${where}: no metric in ${expr}`)
    const known = new Set(OF_PROMETHEUS)
    for (const { metric, labels } of selectors) {
      if (metric === 'up') continue
      const served = metrics.get(metric) ?? assert.fail(`${where}: nothing serves ${metric}`)
      for (const label of labels)
        assert.ok(served.has(label) || OF_PROMETHEUS.includes(label), `${where}: ${metric} has no ${label}`)
      for (const label of served) known.add(label)
    }
    const grouped = groupedBy(expr)
    for (const label of grouped) assert.ok(known.has(label), `${where}: nothing has the label ${label}`)
    for (const label of named)
      assert.ok(grouped.length > 0 ? grouped.includes(label) : known.has(label), `${where}: no ${label}`)
  }
})

const OF_PROMETHEUS = ['instance', 'job']

async function read(internal: string, metrics: Metrics): Promise<readonly OpenMetricsSample[]> {
  const accept = 'application/openmetrics-text;version=1.0.0'
  const response = await fetch(`${internal}/metrics`, { headers: { accept } })
  assert.match(response.headers.get('content-type') ?? '', /^application\/openmetrics-text/)
  const samples = readOpenMetrics(await response.text())
  for (const { name, labels } of samples)
    metrics.set(name, new Set([...(metrics.get(name) ?? []), ...Object.keys(labels)]))
  return samples
}

const listed = async (origin: string, token: string | undefined): Promise<number> => {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return (await fetch(`${origin}/registry/default/v0.1/servers`, { headers })).status
}

async function called(url: string, token: string, method: string, name?: string): Promise<number> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...(name && { name, arguments: {} }) } }),
  })
  await response.text()
  return response.status
}

/** Starts the MCP server of the example, and returns its URL. */
async function mcpServer(t: TestContext): Promise<string> {
  const { output } = spawned(t, [process.execPath, pathOf('server.mjs')], {
    env: { PORT: '0' },
    stdio: 'pipe',
  })
  const port = await eventually(() => /^listening on (\d+)\n$/.exec(output.stdout)?.[1])
  return `http://127.0.0.1:${port}`
}

/** Starts a proxy with TLS that has signed in to its target, and returns the URL of its metrics. */
async function signedIn(t: TestContext): Promise<string> {
  const server = await startAuthorizationServer(t)
  signInUser(t)
  const running = await serving(t, [
    secureListener(t, authority(t)),
    { use: 'internal/server', with: { address: '127.0.0.1:0' } },
    { use: 'internal/metrics' },
    { use: 'auth/anonymous' },
    ...loginEntries({ target: server.target, login: 'start' }),
    { use: 'forward/http', with: { target: server.target } },
  ])
  await eventually(() => server.times('/token') > 0)
  return running.addresses.internal ?? assert.fail('no internal port')
}
