import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isScope, type List, type Problem } from 'sallyport'
import { proxy } from 'sallyport/presets/proxy'
import { registry } from 'sallyport/presets/registry'
import { StdioSettings, stdio } from 'sallyport/presets/stdio'
import { TunnelSettings, tunnel } from 'sallyport/presets/tunnel'
import { readProxySettings } from '#cli/commands/proxy/run.js'
import { readRegistrySettings } from '#cli/commands/registry/run.js'
import { readRunSettings } from '#cli/commands/run/run.js'
import { planOf } from '#cli/config/all-problems.js'
import { readPreset } from '#cli/config/preset-settings.js'
import { mapped } from '#cli/config/result.js'
import { folder } from '#kit/folder.js'
import { proxyTable, tunnelTable } from '#plugins/presets/proxy/table.js'
import { parsed } from '../parsed.js'

interface Recorded {
  readonly argv: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** What the file holds that the command line calls `FILE`. */
  readonly file?: string
  readonly list?: object
  /** The places of what is wrong. */
  readonly problems?: readonly string[]
}

const recorded = readFileSync(join(import.meta.dirname, 'index-command-lines.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line): Recorded => JSON.parse(line))

/** The list of a command line, as it would be written. */
async function listOf({ invocation }: ReturnType<typeof parsed>) {
  assert.ok(invocation !== undefined)
  switch (invocation.command.name) {
    case 'registry':
      return mapped(await readRegistrySettings(invocation), registry)
    case 'proxy':
      return mapped(await readProxySettings(invocation), proxy)
    case 'proxy stdio':
      return mapped(await readPreset({ table: proxyTable, schema: StdioSettings }, invocation), stdio)
    case 'proxy tunnel':
      return mapped(await readPreset({ table: tunnelTable, schema: TunnelSettings }, invocation), tunnel)
    default:
      return mapped(await readRunSettings(invocation), ({ plugins }) => plugins)
  }
}

/** Options that were added after the lists were recorded, with the defaults that change nothing. */
const SINCE: Readonly<Record<string, object>> = {
  'auth/oidc': { acceptIdTokens: false },
  'forward/http': { allowPlainHttp: false },
}
const ADDED = ['log/access']

const written = (list: List): object[] =>
  list.flatMap((item) => {
    if (isScope(item)) return { scope: item.scope, plugins: written(item.plugins) }
    if (ADDED.some((added) => item.use === added)) return []
    const { origin: _, named: __, shortNames: ___, ...entry } = item
    const since = Object.entries(SINCE[typeof entry.use === 'string' ? entry.use : entry.use.name] ?? {})
    if (since.length === 0) return entry
    const options = Object.entries(Object(entry.with)).filter(
      ([name, value]) => !since.some(([each, unasked]) => each === name && unasked === value),
    )
    return { ...entry, with: Object.fromEntries(options) }
  })

/** Places of flags and of the file's lines, without the plugins that complain there. */
const placesIn = (result: object, file: string): readonly string[] =>
  'problems' in result
    ? (result.problems as readonly Problem[]).map(({ place }) =>
        place.replace(file, 'FILE').replace(/ \(.*\)$/, ''),
      )
    : []

test('each recorded command line and file still gives the recorded list', async (t) => {
  assert.ok(recorded.length > 300)
  for (const { argv, env = {}, file, list, problems } of recorded) {
    const home = folder(t, file === undefined ? {} : { FILE: file })
    const path = join(home, 'FILE')
    const words = argv.map((word) => word.replace(/^(--config=)?FILE$/, `$1${path}`))
    Object.assign(process.env, env)
    const line = parsed(words, env)
    const result = line.invocation === undefined ? { problems: line.problems } : await listOf(line)
    for (const name of Object.keys(env)) delete process.env[name]

    const said = `${argv.join(' ')}\n${file ?? ''}`
    if (problems !== undefined) {
      const found = placesIn(await planOf(result), path)
      const missing = problems.filter((place) => !found.includes(place))
      assert.deepEqual(missing, [], said)
      // What the plugins of a broken list add was not recorded.
      const own = 'problems' in result ? placesIn(result, path) : found
      assert.deepEqual(
        own.filter((place) => !problems.includes(place)),
        [],
        said,
      )
    } else {
      assert.ok('settings' in result, `${said}\n${JSON.stringify(result)}`)
      assert.deepEqual(JSON.parse(JSON.stringify(written(result.settings))), list, said)
    }
  }
})
