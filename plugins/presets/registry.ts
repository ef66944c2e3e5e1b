import type { Entry, SettingPath } from 'sallyport'
import { isJsonObject, isLoopbackHost, parseHostPort } from 'sallyport/toolkit'
import { z } from 'zod'
import { accessLog } from './access-log.js'
import { authSection, incomingEntries, signInEntries } from './incoming.js'
import { publishEntries, publisherRules, publishersSection } from './registry/publishers.js'
import {
  brokerState,
  signedOutEntries,
  stateDirectory,
  storeEntries,
  storeRules,
  storeSection,
} from './registry/store.js'
import { registryTable } from './registry/table.js'
import { addedPluginRules, addedPlugins, withAddedPlugins } from './settings/added-plugins.js'
import { EntryMaker, spanOf } from './settings/entry.js'
import { oneKindOf, refuse, refuseRepeats, refuseUnknown } from './settings/refuse.js'
import { settingsSchema } from './settings/schema.js'
import { tlsSection } from './tls-section.js'

const name = z
  .string()
  .regex(/^[\w.~-]{1,64}$/, 'expected a name of letters, digits, ".", "_", "~" and "-", 64 at most')

// The plugin validates the values below, with its own schema.
const options = z.record(z.string(), z.unknown())

/** The same for a key where people often write its only value directly: the message shows an example. */
const optionsSuchAs = (example: string) =>
  z
    .unknown()
    .refine(isJsonObject, { error: `expected a mapping of options, such as \`${example}\``, abort: true })
    .pipe(options)
    .meta({ type: 'object' })

const KINDS = ['file', 'http', 'git', 'managed'] as const

const source = z
  .strictObject({
    name: name.describe('the name that registries list it by'),
    file: optionsSuchAs('file: { path: ./servers.json }')
      .optional()
      .describe('a file of server documents: the options of `source/file`'),
    http: optionsSuchAs('http: { url: https://registry.example.com }')
      .optional()
      .describe('another registry: the options of `source/http`'),
    git: optionsSuchAs('git: { url: https://git.example.com/servers.git }')
      .optional()
      .describe('a file or folder in a git repository: the options of `source/git`'),
    managed: optionsSuchAs('managed: {}')
      .optional()
      .describe('what people publish in this registry: the options of `source/managed`, which has none'),
    use: z.string().min(1).optional().describe('another kind of source: a package, or a path'),
    with: options.optional().describe('the options of the plugin in `use`; it gets `name` among them'),
  })
  .superRefine(oneKindOf(...KINDS))

/** The registry's own file. */
export const RegistrySettings = settingsSchema(registryTable, {
  auth: authSection.prefault({}).describe('who may read'),
  registries: z
    .array(
      z.strictObject({
        name: name.describe('its part of the path: /registry/{name}'),
        sources: z
          .array(z.string())
          .describe('names of sources; the first that has a server gives all its versions'),
      }),
    )
    .min(1)
    .optional()
    .describe('what is served; one called `default` with every source when unset'),
  sources: z.array(source).default([]).describe('where server documents come from'),
  publishers: publishersSection,
  store: storeSection,
  stateDirectory,
  allowedOrigins: z
    .array(z.string())
    .default([])
    .describe('origins whose pages may read the registry from a browser, compared exactly'),
  allowedHosts: z
    .array(z.string())
    .default([])
    .describe('further values of `Host`, for a registry on loopback behind a proxy on the same machine'),
  tls: tlsSection,
  plugins: addedPlugins,
}).superRefine((settings, context) => {
  refuseRepeats(namesOf(settings.sources), ['sources'], context)
  refuseRepeats(namesOf(settings.registries ?? []), ['registries'], context)
  refuseUnknownSources(settings, context)
  refuseSharedPort(settings, context)
  storeRules(settings, context)
  publisherRules(settings, context)
  addedPluginRules(ownEntries(settings), settings.plugins, context)
})

export type RegistrySettings = z.output<typeof RegistrySettings>
type Context = z.core.$RefinementCtx

const namesOf = (list: readonly { readonly name: string }[]): readonly string[] =>
  list.map((each) => each.name)

/** The registry server: the API, its description and its pages behind the gate, over a catalogue of sources. */
export const registry = (settings: RegistrySettings): readonly Entry[] =>
  withAddedPlugins(ownEntries(settings), settings.plugins).list

const make = new EntryMaker(registryTable)

function ownEntries(settings: RegistrySettings): Entry[] {
  const { address, internalAddress, auth, sources } = settings
  const registries = settings.registries ?? [{ name: 'default', sources: namesOf(sources) }]
  return [
    make.entry('listen/http', settings, {
      with: { address, drainDelay: spanOf(settings.drainDelay) },
      from: { address: 'address' },
    }),
    { use: 'internal/server', with: { address: internalAddress }, origin: { address: ['internalAddress'] } },
    { use: 'internal/metrics' },
    ...accessLog(settings),
    ...guards(settings),
    // The document describes the routes that come after this entry.
    { use: 'registry/openapi' },
    ...incomingEntries(auth, { brokerState: (keyFile) => brokerState(settings, keyFile) }),
    ...sources.map(sourceEntry),
    ...storeEntries(settings),
    { use: 'registry/catalogue', with: { registries }, origin: { registries: ['registries'] } },
    ...publishEntries(settings),
    { use: 'registry/api' },
    ...signedOutEntries(settings),
    ...signInEntries(auth),
    { use: 'pages/browse' },
  ]
}

/** On loopback a web page could reach the registry by DNS rebinding. */
function guards({ address, auth, allowedOrigins, allowedHosts }: RegistrySettings): Entry[] {
  const loopback = isLoopbackHost(parseHostPort(address)?.host ?? '')
  const resourceUrl = auth.oauth?.resourceUrl ?? ''
  const known = URL.canParse(resourceUrl) ? [new URL(resourceUrl).host] : []
  // The forms to sign out and to allow a client are POST requests with an `Origin`.
  const hasForms = auth.oauth?.signIn !== undefined || auth.oauth?.broker !== undefined
  const ownOrigin = hasForms && URL.canParse(resourceUrl) ? [new URL(resourceUrl).origin] : []
  const hosts: Entry = {
    use: 'guard/host',
    with: { allowed: [...known, ...allowedHosts], loopback },
    origin: { allowed: ['allowedHosts'] },
  }
  return [
    ...(loopback ? [hosts] : []),
    {
      use: 'guard/origin',
      with: { allowed: [...allowedOrigins, ...ownOrigin], loopback },
      origin: { allowed: ['allowedOrigins'] },
    },
    { use: 'http/cors' },
  ]
}

function sourceEntry(written: RegistrySettings['sources'][number], index: number): Entry {
  const { name: own, use, with: given } = written
  const kind = KINDS.find((each) => written[each] !== undefined) ?? 'file'
  const at: SettingPath = ['sources', index]
  const below = use === undefined ? kind : 'with'
  return {
    use: use ?? `source/${kind}`,
    id: `source:${own}`,
    with: { ...(use === undefined ? written[kind] : given), name: own },
    origin: { '': [...at, below], name: [...at, 'name'] },
    named: [...at, use === undefined ? kind : 'use'],
  }
}

/** Refuses one port for both: the operators' routes would be open to every client. */
function refuseSharedPort({ address, internalAddress }: RegistrySettings, context: Context): void {
  const [main, internal] = [parseHostPort(address), parseHostPort(internalAddress)]
  if (main === undefined || main.port === 0 || main.port !== internal?.port) return
  const isSame =
    [main, internal].some(({ host }) => /^(?:0\.0\.0\.0|::)$/.test(host)) || main.host === internal.host
  if (isSame) refuse(context, ['internalAddress'], 'is the port of `address` too: expected another one')
}

function refuseUnknownSources({ registries = [], sources }: RegistrySettings, context: Context): void {
  const known = namesOf(sources)
  for (const [index, { sources: wanted }] of registries.entries()) {
    for (const [at, each] of wanted.entries()) {
      if (known.includes(each)) continue
      const path = ['registries', index, 'sources', at]
      refuseUnknown(context, path, 'no source has this name', { namedIn: ['sources'] })
    }
  }
}
