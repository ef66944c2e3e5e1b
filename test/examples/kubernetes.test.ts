import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { folder } from '#kit/folder.js'
import { issuing } from '#kit/issuer.js'
import { program } from '#kit/program.js'
import { authority } from '#kit/tls.js'

const root = join(import.meta.dirname, '../..')
const directory = join(root, 'examples/kubernetes')

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

interface Container {
  readonly image: string
  readonly args: readonly string[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
  readonly startupProbe?: Probe
  readonly readinessProbe?: Probe
  readonly livenessProbe?: Probe
  readonly securityContext?: object
  readonly resources?: { readonly limits: { readonly memory: string } }
}

interface PodSpec {
  readonly initContainers?: readonly Container[]
  readonly containers: readonly Container[]
  readonly volumes: readonly { readonly name: string }[]
  readonly securityContext?: object
  readonly terminationGracePeriodSeconds?: number
}

interface ServicePort {
  readonly name: string
  readonly targetPort: string
}

type Labels = Readonly<Record<string, string>>

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Labels }
  readonly data?: Readonly<Record<string, string>>
  readonly stringData?: Readonly<Record<string, string>>
  readonly spec?: PodSpec & {
    readonly template?: { readonly spec: PodSpec; readonly metadata: { readonly labels: Labels } }
    readonly selector?: Labels
    readonly ports?: readonly ServicePort[]
  }
}

const files = readdirSync(directory).filter((file) => file.endsWith('.yaml'))
const manifests: readonly Manifest[] = files.flatMap((file) =>
  parseAllDocuments(readFileSync(join(directory, file), 'utf8')).map((document): Manifest => {
    assert.deepEqual(document.errors, [], file)
    return document.toJS()
  }),
)
const deployments = manifests.filter(({ kind }) => kind === 'Deployment')
const podOf = ({ spec }: Manifest): PodSpec | undefined => spec?.template?.spec ?? spec
const containersOf = (pod: PodSpec | undefined): readonly Container[] => [
  ...(pod?.initContainers ?? []),
  ...(pod?.containers ?? []),
]
/** The content of the ConfigMap or Secret of this name. */
const dataOf = (kind: string, name: string): Readonly<Record<string, string>> => {
  const { data, stringData } =
    manifests.find((each) => each.kind === kind && each.metadata.name === name) ?? {}
  return { ...data, ...stringData }
}
const argsOf = (name: string): readonly string[] =>
  deployments.flatMap((each) => (each.metadata.name === name ? (podOf(each)?.containers ?? []) : []))[0]
    ?.args ?? []

/** The kind of the Prometheus operator, as far as the example uses it: no package has its type. */
const ServiceMonitor = z.strictObject({
  apiVersion: z.literal('monitoring.coreos.com/v1'),
  kind: z.literal('ServiceMonitor'),
  metadata: z.strictObject({ name: z.string(), namespace: z.string() }),
  spec: z.strictObject({
    selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
    podTargetLabels: z.array(z.string()),
    endpoints: z.array(
      z.strictObject({
        port: z.string(),
        path: z.string().startsWith('/'),
        interval: z.string().regex(/^\d+s$/),
      }),
    ),
  }),
})
const monitor = ServiceMonitor.parse(manifests.find(({ kind }) => kind === 'ServiceMonitor'))

test('every manifest has the form of its Kubernetes kind, and no unknown field', (t) => {
  assert.ok(manifests.length >= 9)
  const known = manifests.filter(({ kind }) => kind !== 'ServiceMonitor')
  const source = known.map(({ apiVersion, kind, ...fields }, index) => {
    const made = `import { ${kind} as Kind${index} } from 'kubernetes-models/${apiVersion}/${kind}'`
    return `${made}\nnew Kind${index}(${JSON.stringify(fields)}).validate()`
  })
  const home = folder(t, {
    'manifests.mts': source.join('\n'),
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        module: 'nodenext',
        target: 'es2023',
        strict: true,
        skipLibCheck: true,
        types: [],
      },
      include: ['manifests.mts'],
    }),
    'package.json': '{"type":"module"}',
  })
  symlinkSync(join(root, 'node_modules'), join(home, 'node_modules'))

  // The types check unknown fields; the compiled models check required fields and formats.
  for (const argv of [
    [join(root, 'node_modules/typescript/bin/tsc'), '-p', home],
    [join(home, 'manifests.mjs')],
  ]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  }
})

for (const [name, plugin] of [
  ['registry', /use: auth\/kubernetes/],
  ['catalogue', /use: store\/postgres/],
] as const)
  test(`a registry starts with the ConfigMap ${name}`, async (t) => {
    const home = folder(t, dataOf('ConfigMap', name))
    const [command = '', , mounted = ''] = argsOf(name)
    const file = join(home, mounted.replace('/etc/sallyport/', ''))

    const printing = program(t, [command, '--config', file, '--print-plugins'])
    assert.equal(await printing.ended(), 0, printing.output.stderr)
    assert.match(printing.output.stdout, plugin)
    const checking = program(t, ['check', '--config', file])
    assert.equal(await checking.ended(), 0, checking.output.stderr)
  })

test('one database user creates the tables and another serves, both from the same file', () => {
  const pod = podOf(deployments.find(({ metadata }) => metadata.name === 'catalogue') ?? assert.fail())
  const [migrating, serving] = containersOf(pod)
  assert.equal(migrating?.args[0], 'migrate')
  assert.deepEqual(migrating?.args.slice(1), serving?.args.slice(1))
  const [owner, user] = ['catalogue-owner', 'catalogue'].map(
    (name) => new URL(dataOf('Secret', name)['database-url'] ?? '').username,
  )
  assert.deepEqual([owner, user], ['sallyport_owner', 'sallyport'])
  const placeOf = (container: Container | undefined, volume: string) =>
    container?.volumeMounts.find(({ name }) => name === volume)?.mountPath
  assert.equal(placeOf(migrating, 'owner'), placeOf(serving, 'secrets'))
  assert.equal(placeOf(serving, 'owner'), undefined)
})

test('the proxy accepts the flags of its manifest', async (t) => {
  const printing = program(t, [...argsOf('notes-proxy'), '--print-plugins'])
  assert.equal(await printing.ended(), 0, printing.output.stderr)
  assert.match(printing.output.stdout, /use: credential\/static-bearer/)
})

test('the gateways serve the requests of probes, Services and Prometheus', async (t) => {
  const issuer = await issuing(t)
  for (const deployment of deployments) {
    const { name } = deployment.metadata
    const data = dataOf('ConfigMap', name)
    const secrets = { ...dataOf('Secret', name), 'cookie.key': randomBytes(32).toString('base64') }
    const home = folder(t, { ...data, ...secrets, 'ca.crt': authority(t).certificate })
    // The files that a cluster mounts into each pod; the test needs no cluster.
    const mounted = ', caCertPath: ca.crt, authTokenFile: token }'
    const file = String(data['sallyport.yaml'])
      .replace(/(?<=name: cluster, audience: registry) }/, mounted)
      .replace('https://idp.example.com/', issuer.url)
      .replace(/(?<=audience: registry) }/, ', allowPrivateIP: true }')
      .replaceAll('/var/run/secrets/catalogue', home)
      .replace('/var/lib/sallyport', join(home, 'state'))
      .replace('registry.modelcontextprotocol.io', 'registry.invalid')
    writeFileSync(join(home, 'sallyport.yaml'), file)
    writeFileSync(join(home, 'token'), 'x')
    writeFileSync(join(home, 'database-url'), 'postgres://127.0.0.1:9/none')
    const [container] = podOf(deployment)?.containers ?? []
    const { args = [], ports = [], startupProbe, readinessProbe, livenessProbe } = container ?? {}
    const text = [...args, ...Object.values(data)].join(' ')
    for (const { containerPort } of ports)
      assert.match(text, new RegExp(`0\\.0\\.0\\.0:${containerPort}|--port=${containerPort}`))
    const argv = args.map((word) =>
      word
        .replace('/etc/sallyport', home)
        .replace('/var/run/secrets/target', home)
        .replace(/0\.0\.0\.0(?::\d+)?$|=8080$/, (at) =>
          at === '=8080' ? '=0' : at.replace('0.0.0.0', '127.0.0.1').replace(/:\d+/, ':0'),
        ),
    )
    const anywhere = ['--internal-address', '127.0.0.1:0', '--address', '127.0.0.1:0']
    const running = program(t, argv[0] === 'registry' ? [...argv, ...anywhere] : argv)
    await running.ready()
    const [, internal = ''] = /metrics on (http:\S+)\)/.exec(running.output.stdout) ?? []
    const probes = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet.path)
    assert.deepEqual(probes, ['/health', '/health', '/readiness'])
    for (const path of [...probes, ...monitor.spec.endpoints.map((endpoint) => endpoint.path)])
      assert.notEqual((await fetch(`${internal}${path}`)).status, 404, path)
  }
})

test('every mount, port, label and Service refers to something that exists', () => {
  for (const manifest of manifests) {
    const pod = podOf(manifest)
    const volumes = pod?.volumes?.map(({ name }) => name) ?? []
    for (const { ports = [], volumeMounts, startupProbe, readinessProbe, livenessProbe } of containersOf(
      pod,
    )) {
      const names = ports.map(({ name }) => name)
      for (const { name } of volumeMounts) assert.ok(volumes.includes(name), name)
      for (const probe of [startupProbe, readinessProbe, livenessProbe]) {
        if (probe !== undefined) assert.ok(names.includes(probe.httpGet.port))
      }
    }
  }
  const services = manifests.filter(({ kind }) => kind === 'Service')
  const labels = [
    ...deployments.map(({ spec }) => spec?.template?.metadata.labels ?? {}),
    ...services.map(({ metadata }) => metadata.labels ?? {}),
  ]
  const ours = (selector: Labels): boolean =>
    Object.keys(selector).every((key) => key.startsWith('app.kubernetes.io/'))
  const leads = (selector: Labels): boolean =>
    labels.some((each) => Object.entries(selector).every(([key, value]) => each[key] === value))
  const selectors = manifests.flatMap((manifest) => valuesOf(manifest, 'matchLabels'))
  const all = [...(selectors as Labels[]).filter(ours), ...services.map(({ spec }) => spec?.selector ?? {})]
  assert.ok(all.length >= 12)
  for (const selector of all) assert.ok(leads(selector), JSON.stringify(selector))

  const ports = services.flatMap(
    ({ metadata, spec }) =>
      spec?.ports?.map(({ name, targetPort }) => ({ service: metadata.name, name, targetPort })) ?? [],
  )
  for (const { targetPort } of ports) assert.ok(['http', 'internal'].includes(targetPort))
  const backends = manifests.flatMap((manifest) => valuesOf(manifest, 'backend')) as {
    service: { name: string; port: { name: string } }
  }[]
  assert.equal(backends.length, 3)
  for (const { service } of backends)
    assert.ok(ports.some((port) => port.service === service.name && port.name === service.port.name))
  for (const { port } of monitor.spec.endpoints) assert.ok(ports.some(({ name }) => name === port))
})

test('no pod runs as root, can become root, writes to its root, or lacks a memory limit', () => {
  const user = /^USER (\d+):\d+$/m.exec(readFileSync(join(root, 'examples/docker/Dockerfile'), 'utf8'))?.[1]
  const pods = manifests.flatMap((manifest) =>
    podOf(manifest)?.containers === undefined ? [] : (podOf(manifest) ?? []),
  )
  assert.equal(pods.length, 4)
  for (const pod of pods) {
    const { fsGroup: _, ...context }: { fsGroup?: number } = pod.securityContext ?? {}
    const seccompProfile = { type: 'RuntimeDefault' }
    assert.deepEqual(context, {
      runAsNonRoot: true,
      runAsUser: Number(user),
      runAsGroup: Number(user),
      seccompProfile,
    })
    for (const { securityContext, resources, image } of containersOf(pod)) {
      const none = {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      }
      assert.deepEqual(securityContext, none)
      assert.match(resources?.limits.memory ?? '', /^\d+Mi$/)
      assert.match(image, /:\d+\.\d+\.\d+$/)
    }
  }
})

test('a pod has enough time to stop', () => {
  // The sum of the drain delay in Kubernetes, requests in flight, and the steps of the plugins.
  for (const deployment of deployments)
    assert.ok((podOf(deployment)?.terminationGracePeriodSeconds ?? 0) >= 5 + 10 + 10)
})

/** Every value of this key, at any depth. */
function valuesOf(value: unknown, key: string): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => (name === key ? [inner] : valuesOf(inner, key)))
}
