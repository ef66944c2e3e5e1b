import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { basicAuthorization, type Entry, GatewayError, isScope, type List, type Scope } from 'sallyport'
import { PLACES, QuickstartSettings, quickstart as quickstartList } from 'sallyport/presets/quickstart'
import { stringify } from 'yaml'
import { type Paint, painter } from '../colour.js'
import { isMapping, pathText } from '../config/path.js'
import { type Preset, runGateway } from '../gateway.js'
import type { Invocation } from '../options/option.js'
import { quickstartGroups } from '../options/quickstart.js'
import { valuesOf } from '../options/values.js'
import { freePorts } from './free-ports.js'
import { ownName, packageFolder } from './own-name.js'
import { internalPart } from './ready-line.js'
import { type Stop, tour } from './tour.js'

/** Runs everything at once on this machine, and tells what to try. */
export async function quickstart(invocation: Invocation): Promise<number> {
  const settings = await settingsFor(invocation)
  return runGateway(presetOf(settings), invocation)
}

const presetOf = (settings: QuickstartSettings): Preset<QuickstartSettings> => ({
  read: async () => ({
    settings,
    folder: process.cwd(),
    secrets: new Set([settings.clientSecret, settings.serverToken]),
    locate: pathText,
  }),
  list: quickstartList,
  readyLine: async (_settings, addresses) => {
    const ready = `sallyport quickstart listening on ${addresses.main}${internalPart(addresses)}`
    return `${ready}\n\n${await tourText(settings)}`
  },
})

async function settingsFor({ given }: Invocation): Promise<QuickstartSettings> {
  const { port } = valuesOf(quickstartGroups, given)
  const [free, ...others] = await freePorts(4, port ?? 8080)
  // A port that was asked for is taken as it is, and the start fails when it is not free.
  const ports = [port === undefined || port === 0 ? free : port, ...others]
  const [address, internalAddress, issuerAddress, serverAddress] = ports.map((each) => `127.0.0.1:${each}`)
  return QuickstartSettings.parse({
    address,
    internalAddress,
    issuerAddress,
    serverAddress,
    clientId: 'newcomer',
    clientSecret: randomBytes(16).toString('base64url'),
    serverToken: `of-the-gateway-${randomBytes(16).toString('base64url')}`,
    servers: join(packageFolder(), 'examples/registry/servers.json'),
  })
}

async function tourText(settings: QuickstartSettings): Promise<string> {
  const { address, internalAddress } = settings
  const resources = [`http://${address}${PLACES.registry}`, `http://${address}${PLACES.sample}/mcp`]
  const [registry = '', sample = ''] = await Promise.all(
    resources.map((resource) => tokenFor(resource, settings)),
  )
  const stops = tour({
    address,
    internalAddress,
    program: ownName(process.argv[1] ?? '', process.env),
    list: writtenList(quickstartList(settings)),
    tokens: { registry, sample },
  })
  const paint = painter(process.stdout, process.env)
  return [
    'Paste these into another terminal, one by one. Ctrl-C here ends it all and leaves nothing behind.',
    ...stops.map((stop, index) => stopText(stop, index + 1, paint)),
  ].join('\n\n')
}

const stopText = ({ title, command }: Stop, number: number, paint: Paint): string =>
  [paint('bold', `${number}. ${title}`), ...(command === undefined ? [] : [command])].join('\n')

async function tokenFor(
  resource: string,
  { issuerAddress, clientId, clientSecret }: QuickstartSettings,
): Promise<string> {
  const response = await fetch(`http://${issuerAddress}/token`, {
    method: 'POST',
    headers: { authorization: basicAuthorization(clientId, clientSecret) },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource }),
  })
  const answer: unknown = await response.json()
  const token = isMapping(answer) ? answer['access_token'] : undefined
  if (typeof token === 'string') return token
  throw new GatewayError(
    'QUICKSTART_FAILED',
    `the local identity provider gave no token (${response.status})`,
  )
}

/** Writes the list to a file that only this user can read, and that goes when the process does, however it ends. */
function writtenList(list: List): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-quickstart-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, stringify({ plugins: plain(list) }, { lineWidth: 0 }), { mode: 0o600 })
  return file
}

const plain = (list: List): object[] =>
  list.map((item: Entry | Scope) => {
    if (isScope(item)) return { scope: item.scope, plugins: plain(item.plugins) }
    const { origin: _, named: __, ...entry } = item
    return entry
  })
