import fc from 'fast-check'
import { server } from '../registry/registry.js'

const LARGEST = 256 * 1024

const name = 'a.example/large'
const remote = (more: object) => ({ type: 'sse', url: 'https://a.example/', ...more })
const header = (value: string, variables?: object) => ({ name: 'X', value, ...(variables && { variables }) })
const inDocument = (more: object) => server(name, '1.0.0', more)

const placeholders = (count: number): string =>
  Array.from({ length: count }, (_, index) => `{v${index}}`).join('')

const npm = (more: object) => ({
  registryType: 'npm',
  identifier: 'x',
  transport: { type: 'stdio' },
  ...more,
})

/** Documents that make much of what little they have, by what is in them. */
export const hostileDocuments: Readonly<Record<string, object>> = {
  'thousands of variables in a header': inDocument({
    remotes: [remote({ headers: [header(placeholders(30_000))] })],
  }),
  'one long variable, used thousands of times': inDocument({
    remotes: [remote({ headers: [header('{v}'.repeat(40_000), { v: { value: 'x'.repeat(100_000) } })] })],
  }),
  'one long variable, used as often as it may': inDocument({
    remotes: [remote({ headers: [header('{v}'.repeat(32), { v: { value: '"'.repeat(12_000) } })] })],
  }),
  'a long header of quotes': inDocument({ remotes: [remote({ headers: [header('"'.repeat(120_000))] })] }),
  'as many remotes of quotes as fit': inDocument({
    remotes: Array.from({ length: 250 }, () => remote({ headers: [header('"'.repeat(400))] })),
  }),
  'a thousand headers': inDocument({
    remotes: [remote({ headers: Array.from({ length: 1_000 }, (_, index) => ({ name: `H${index}` })) })],
  }),
  'a thousand variables of the environment': inDocument({
    packages: [
      npm({ environmentVariables: Array.from({ length: 1_000 }, (_, index) => ({ name: `E${index}` })) }),
    ],
  }),
  'a long argument': inDocument({
    packages: [npm({ packageArguments: [{ type: 'positional', value: "'".repeat(200_000) }] })],
  }),
  'long links': inDocument({
    websiteUrl: `https://a.example/?${'&'.repeat(120_000)}`,
    repository: { url: `https://a.example/?${'&'.repeat(120_000)}`, source: 'git' },
  }),
  'a long default of a variable': inDocument({
    remotes: [remote({ url: 'https://a.example/{v}', variables: { v: { default: '<'.repeat(200_000) } } })],
  }),
}

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc
    .tuple(fc.constantFrom('"', '&', '{v}', '{w}', '\\', '\u0001', 'x', '\u{1f600}'), fc.nat({ max: 20_000 }))
    .map(([part, times]) => part.repeat(times)),
)
const input = fc.record(
  { name: text, value: text, default: text, description: text },
  { requiredKeys: ['name'] },
)
const variables = fc.record({ v: input, w: input }, { requiredKeys: [] })
const transport = fc.record({
  type: fc.constant('sse'),
  url: text.map((rest) => `https://a.example/${rest.replaceAll(/\s/g, '')}`),
  headers: fc.array(fc.record({ name: text, value: text, variables }), { maxLength: 6 }),
  variables,
})
const packages = fc.record({
  registryType: fc.constantFrom('npm', 'oci', 'pypi'),
  identifier: text,
  transport: fc.constant({ type: 'stdio' }),
  environmentVariables: fc.array(input, { maxLength: 6 }),
})

/** Documents whose texts are long where a page repeats them. */
export const anyLargeDocument = fc
  .record({
    remotes: fc.array(transport, { maxLength: 5 }),
    packages: fc.array(packages, { maxLength: 5 }),
  })
  .map(inDocument)
  .filter((each) => Buffer.byteLength(JSON.stringify(each)) <= LARGEST)
