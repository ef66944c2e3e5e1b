import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { folder } from '../kit/folder.js'
import { program } from '../kit/program.js'

const root = join(import.meta.dirname, '../..')
const place = join(root, 'examples/kubernetes')

interface Container {
  readonly args: readonly string[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly volumeMounts: readonly { readonly name: string }[]
  readonly readinessProbe?: { readonly httpGet: { readonly port: string } }
  readonly livenessProbe?: { readonly httpGet: { readonly port: string } }
}

interface PodSpec {
  readonly containers: readonly Container[]
  readonly volumes: readonly { readonly name: string }[]
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: PodSpec & {
    readonly template?: { readonly spec: PodSpec; readonly metadata: { readonly labels: object } }
    readonly selector?: object
    readonly ports?: readonly { readonly targetPort: string }[]
  }
}

const manifests: readonly Manifest[] = readdirSync(place).flatMap((file) =>
  parseAllDocuments(readFileSync(join(place, file), 'utf8')).map((document): Manifest => {
    assert.deepEqual(document.errors, [], file)
    return document.toJS()
  }),
)
const deployments = manifests.filter(({ kind }) => kind === 'Deployment')
const podOf = ({ spec }: Manifest): PodSpec | undefined => spec?.template?.spec ?? spec
const argsOf = (name: string): readonly string[] =>
  deployments.flatMap((each) => (each.metadata.name === name ? (podOf(each)?.containers ?? []) : []))[0]
    ?.args ?? []

test('every manifest has the form that Kubernetes gives its kind, and no field that it does not know', (t) => {
  assert.ok(manifests.length >= 9)
  const source = manifests.map(({ apiVersion, kind, ...fields }, index) => {
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

  // The types know which fields there are, and what they compile to knows required ones and formats.
  for (const argv of [
    [join(root, 'node_modules/typescript/bin/tsc'), '-p', home],
    [join(home, 'manifests.mjs')],
  ]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  }
})

test('the registry of the ConfigMap is one that starts', async (t) => {
  const { data = {} } = manifests.find(({ kind }) => kind === 'ConfigMap') ?? {}
  const home = folder(t, data)
  const [command = '', , mounted = ''] = argsOf('registry')
  const file = join(home, mounted.replace('/etc/sallyport/', ''))

  const printing = program(t, [command, '--config', file, '--print-plugins'])
  assert.equal(await printing.ended(), 0, printing.output.stderr)
  assert.match(printing.output.stdout, /use: auth\/kubernetes/)
})

test('the flags of the proxy are understood', async (t) => {
  const printing = program(t, [...argsOf('notes-proxy'), '--print-plugins'])
  assert.equal(await printing.ended(), 0, printing.output.stderr)
  assert.match(printing.output.stdout, /use: credential\/static-bearer/)
})

test('probes, mounts, ports and selectors lead somewhere', () => {
  for (const manifest of manifests) {
    const pod = podOf(manifest)
    const volumes = pod?.volumes?.map(({ name }) => name) ?? []
    for (const { ports = [], volumeMounts, readinessProbe, livenessProbe } of pod?.containers ?? []) {
      const names = ports.map(({ name }) => name)
      for (const { name } of volumeMounts) assert.ok(volumes.includes(name), name)
      for (const probe of [readinessProbe, livenessProbe]) {
        if (probe !== undefined) assert.ok(names.includes(probe.httpGet.port))
      }
    }
  }
  const labels = deployments.map(({ spec }) => JSON.stringify(spec?.template?.metadata.labels))
  for (const { spec } of manifests.filter(({ kind }) => kind === 'Service')) {
    assert.ok(labels.includes(JSON.stringify(spec?.selector)))
    assert.deepEqual(
      spec?.ports?.map(({ targetPort }) => targetPort),
      ['http'],
    )
  }
})
