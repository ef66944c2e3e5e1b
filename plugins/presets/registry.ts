import type { Entry, SettingPath } from 'sallyport'
import { z } from 'zod'
import { authSection, incomingEntries } from './incoming.js'

const address = z.string().regex(/^.+:\d+$/, 'expected HOST:PORT')

const name = z
  .string()
  .regex(/^[\w.~-]{1,64}$/, 'expected a name of letters, digits, ".", "_", "~" and "-", 64 at most')

// What stands below is the business of the plugin, which has a schema of its own.
const options = z.record(z.string(), z.unknown())

const KINDS = ['file', 'http', 'git', 'use'] as const

const source = z
  .strictObject({
    name: name.describe('the name that registries list it by'),
    file: options.optional().describe('a file of server documents: the options of `source/file`'),
    http: options.optional().describe('another registry: the options of `source/http`'),
    git: options.optional().describe('a file or folder in a git repository: the options of `source/git`'),
    use: z.string().min(1).optional().describe('another kind of source: a package, or a path'),
    with: options.optional().describe('the options of the plugin in `use`; it gets `name` among them'),
  })
  .superRefine((written, context) => {
    const given = KINDS.filter((kind) => written[kind] !== undefined)
    if (given.length !== 1) refuse(context, [], `expected exactly one of ${KINDS.join(', ')}`)
    if (written.with !== undefined && written.use === undefined) {
      refuse(context, ['with'], 'belongs to `use`, which is not here')
    }
  })

const plugin = z
  .strictObject({
    use: z.string().min(1).describe('a built-in name, a package, or a path that starts with ./, ../ or /'),
    with: z.unknown().optional().describe('its options'),
    id: z.string().min(1).optional().describe('tells it apart from another entry of the same plugin'),
    required: z.boolean().optional().describe('false lets the registry start without it'),
    before: z.string().optional().describe('place it before this entry'),
    after: z.string().optional().describe('place it after this entry'),
  })
  .superRefine(({ before, after }, context) => {
    if (before !== undefined && after !== undefined) refuse(context, [], 'expected before or after, not both')
  })

/** The registry's own file. */
export const RegistrySettings = z
  .strictObject({
    address: address.default('127.0.0.1:8080').describe('where the registry API listens'),
    internalAddress: address
      .default('127.0.0.1:8081')
      .describe('where /health, /readiness, /version, /metrics and /sync are served'),
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
    stateDirectory: z
      .string()
      .nullable()
      .optional()
      .describe('where the last good state of each source is kept; null keeps none'),
    allowedOrigins: z
      .array(z.string())
      .default([])
      .describe('origins whose pages may read the registry from a browser, compared exactly'),
    allowedHosts: z
      .array(z.string())
      .default([])
      .describe('further values of `Host`, for a registry on loopback behind a proxy on the same machine'),
    plugins: z.array(plugin).default([]).describe('further plugins'),
  })
  .superRefine((settings, context) => {
    refuseRepeats(settings.sources, ['sources'], context)
    refuseRepeats(settings.registries ?? [], ['registries'], context)
    refuseUnknownSources(settings, context)
    refuseUnknownPlaces(settings, context)
  })

export type RegistrySettings = z.output<typeof RegistrySettings>
type Context = z.core.$RefinementCtx

/** The registry server: the API, its description and its pages behind the gate, over a catalogue of sources. */
export function registry(settings: RegistrySettings): readonly Entry[] {
  return placed(ownEntries(settings), settings.plugins)
}

function ownEntries(settings: RegistrySettings): Entry[] {
  const { address, internalAddress, auth, sources, stateDirectory } = settings
  const anonymous = auth.mode === 'anonymous'
  const registries = settings.registries ?? [
    { name: 'default', sources: sources.map(({ name: each }) => each) },
  ]
  return [
    { use: 'listen/http', with: { address }, origin: { address: ['address'] } },
    { use: 'internal/server', with: { address: internalAddress }, origin: { address: ['internalAddress'] } },
    { use: 'internal/metrics' },
    ...guards(settings),
    ...incomingEntries(auth),
    ...sources.map(sourceEntry),
    {
      use: 'registry/catalogue',
      with: { registries, ...(stateDirectory !== undefined && { stateDirectory }) },
      origin: { registries: ['registries'], stateDirectory: ['stateDirectory'] },
    },
    // It describes the routes that come after it.
    { use: 'registry/openapi', with: { anonymous } },
    { use: 'registry/api', with: { anonymous } },
    { use: 'pages/people', with: { anonymous } },
  ]
}

/** On loopback a page could reach the registry by a name of its own that it makes point here. */
function guards({ address, auth, allowedOrigins, allowedHosts }: RegistrySettings): Entry[] {
  const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]):\d+$/i.test(address)
  const resourceUrl = auth.oauth?.resourceUrl ?? ''
  const known = URL.canParse(resourceUrl) ? [new URL(resourceUrl).host] : []
  const hosts: Entry = {
    use: 'guard/host',
    with: { allowed: [...known, ...allowedHosts], loopback },
    origin: { allowed: ['allowedHosts'] },
  }
  return [
    ...(loopback ? [hosts] : []),
    {
      use: 'guard/origin',
      with: { allowed: allowedOrigins, loopback },
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
    with: { ...(use === undefined ? written[kind as 'file' | 'http' | 'git'] : given), name: own },
    origin: { '': [...at, below], name: [...at, 'name'] },
    named: [...at, use === undefined ? kind : 'use'],
  }
}

const nameOf = ({ id, use }: { readonly id?: string | undefined; readonly use: Entry['use'] }): string =>
  id ?? (typeof use === 'string' ? use : use.name)

/** Puts every further plugin where it wants to be, the ones before it already there. */
function placed(own: readonly Entry[], further: RegistrySettings['plugins']): Entry[] {
  const list = [...own]
  for (const [index, { before, after, use, with: given, id, required }] of further.entries()) {
    const entry: Entry = {
      use,
      ...(given !== undefined && { with: given }),
      ...(id !== undefined && { id }),
      ...(required !== undefined && { required }),
      origin: { '': ['plugins', index, 'with'] },
      named: ['plugins', index, 'use'],
    }
    const at = list.findIndex((each) => nameOf(each) === (before ?? after))
    if (at === -1) list.push(entry)
    else list.splice(before === undefined ? at + 1 : at, 0, entry)
  }
  return list
}

function refuseUnknownPlaces(settings: RegistrySettings, context: Context): void {
  const known = ownEntries(settings).map(nameOf)
  for (const [index, further] of settings.plugins.entries()) {
    for (const key of ['before', 'after'] as const) {
      const wanted = further[key]
      if (wanted === undefined || known.includes(wanted)) continue
      refuse(context, ['plugins', index, key], `no entry is called so; known are ${known.join(', ')}`)
    }
    known.push(nameOf(further))
  }
}

function refuseUnknownSources({ registries = [], sources }: RegistrySettings, context: Context): void {
  const known = [...new Set(sources.map(({ name: each }) => each))]
  for (const [index, { sources: wanted }] of registries.entries()) {
    for (const [at, each] of wanted.entries()) {
      if (known.includes(each)) continue
      const message = `no source has this name; known are: ${known.join(', ')}`
      refuse(context, ['registries', index, 'sources', at], message)
    }
  }
}

function refuseRepeats(list: readonly { readonly name: string }[], at: SettingPath, context: Context): void {
  const names = list.map((each) => each.name)
  for (const [index, each] of names.entries()) {
    if (names.indexOf(each) < index)
      refuse(context, [...at, index, 'name'], 'this name is in the list already')
  }
}

function refuse(context: Context, path: SettingPath, message: string): void {
  context.issues.push({ code: 'custom', input: undefined, path: [...path], message, continue: true })
}
