import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Entry, type Fetch, GatewayError, isScope, type List, type Scope } from 'sallyport'
import {
  PLACES,
  QuickstartFlags,
  QuickstartSettings,
  quickstart as quickstartList,
} from 'sallyport/presets/quickstart'
import { basicAuthorization, createFetcher, fileFailure, isJsonObject } from 'sallyport/toolkit'
import { stringify } from 'yaml'
import { quickstartTable } from '#plugins/presets/quickstart/table.js'
import { type Paint, painter } from '../../colour.js'
import { resolveUse } from '../../config/plugin-flag.js'
import { readPreset } from '../../config/preset-settings.js'
import { resolveSettings } from '../../config/resolve-settings.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { packageFolder, programName } from '../../program-name.js'
import { internalPart } from '../../ready-line.js'
import { type GatewayCommand, runGateway } from '../../run-gateway.js'
import { printProblems } from '../../terminal.js'
import { type TourContext, type TourStep, tour } from './tour.js'

/** Runs all parts at once on this machine, and prints commands to try. */
export async function quickstart(invocation: Invocation, io: Io): Promise<number> {
  const flags = await readPreset({ table: quickstartTable, schema: QuickstartFlags }, invocation)
  if ('problems' in flags) return printProblems(flags.problems, io)
  const { parts, elsewhere } = await partsFor(flags.settings)
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-quickstart-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  try {
    return await runGateway(commandFor(parts, elsewhere, folder), invocation, io)
  } finally {
    process.off('exit', remove)
    remove()
  }
}

/** The settings of every part, made once: a reload changes only the added plugins. */
type Parts = Omit<QuickstartSettings, 'plugins'>

/** The address of each part. */
type Addresses = Pick<Parts, 'address' | 'internalAddress' | 'issuerAddress' | 'serverAddress'>

const commandFor = (
  parts: Parts,
  elsewhere: Addresses,
  folder: string,
): GatewayCommand<QuickstartSettings> => ({
  read: async (invocation) => {
    const flags = await readPreset({ table: quickstartTable, schema: QuickstartFlags }, invocation)
    if ('problems' in flags) return { problems: flags.problems }
    const secrets = new Set([...flags.secrets, parts.clientSecret, parts.serverToken])
    // The tour writes the list to another folder.
    const plugins = flags.settings.plugins.map((row) => ({ ...row, use: resolveUse(flags.folder, row.use) }))
    const value = { ...parts, plugins }
    return resolveSettings(QuickstartSettings, { ...flags, secrets, value })
  },
  list: quickstartList,
  quietOnTerminal: true,
  readyLine: async (settings, addresses, io) => {
    const ready = `sallyport quickstart listening on ${addresses.main}${internalPart(addresses)}`
    const lists = {
      list: writtenList(quickstartList(settings), join(folder, 'gateway.yaml')),
      second: writtenList(quickstartList({ ...settings, ...elsewhere }), join(folder, 'second.yaml')),
    }
    return `${ready}\n\n${await tourText(settings, lists, io)}`
  },
})

/** The parts, and free addresses for a second copy of them. */
async function partsFor({
  port,
}: QuickstartFlags): Promise<{ readonly parts: Parts; readonly elsewhere: Addresses }> {
  const [free = 0, ...others] = await freePorts(8, port ?? 8080)
  // With --port the gateway uses exactly that port, and the start fails when it is not free.
  const ports = [port === undefined || port === 0 ? free : port, ...others]
  const parts = QuickstartSettings.parse({
    ...addressesOn(ports.slice(0, 4)),
    clientId: 'newcomer',
    clientSecret: randomBytes(16).toString('base64url'),
    serverToken: `of-the-gateway-${randomBytes(16).toString('base64url')}`,
    servers: join(packageFolder(), 'examples/registry/servers.json'),
  })
  return { parts, elsewhere: addressesOn(ports.slice(4)) }
}

function addressesOn(ports: readonly number[]): Addresses {
  const [address = '', internalAddress = '', issuerAddress = '', serverAddress = ''] = ports.map(
    (each) => `127.0.0.1:${each}`,
  )
  return { address, internalAddress, issuerAddress, serverAddress }
}

async function tourText(
  settings: QuickstartSettings,
  lists: Pick<TourContext, 'list' | 'second'>,
  io: Io,
): Promise<string> {
  const { address, internalAddress } = settings
  const resources = [`http://${address}${PLACES.registry}`, `http://${address}${PLACES.sample}/mcp`]
  // Not the global `fetch`, which would load a second HTTP client.
  const fetcher = createFetcher({ allowPrivate: true, environment: {} })
  const [registry = '', sample = ''] = await Promise.all(
    resources.map((resource) => tokenFor(resource, settings, fetcher.fetch)),
  )
  await fetcher.close()
  const steps = tour({
    address,
    internalAddress,
    program: programName(io.started, io.env),
    ...lists,
    tokens: { registry, sample },
  })
  const paint = painter(io.stdout, io.env)
  return [
    'Paste these into another terminal, one by one. Ctrl-C here ends everything and leaves nothing behind.',
    ...steps.map((step, index) => stepText(step, index + 1, paint)),
  ].join('\n\n')
}

const stepText = ({ title, command }: TourStep, number: number, paint: Paint): string =>
  [paint('bold', `${number}. ${title}`), ...(command === undefined ? [] : [command])].join('\n')

async function tokenFor(
  resource: string,
  { issuerAddress, clientId, clientSecret }: QuickstartSettings,
  fetch: Fetch,
): Promise<string> {
  const response = await fetch(`http://${issuerAddress}/token`, {
    method: 'POST',
    headers: { authorization: basicAuthorization(clientId, clientSecret) },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource }),
  })
  const answer: unknown = await response.json()
  const token = isJsonObject(answer) ? answer['access_token'] : undefined
  if (typeof token === 'string') return token
  throw new GatewayError(
    'QUICKSTART_FAILED',
    `the local identity provider gave no token (${response.status})`,
  )
}

/** Writes the list to a file that only this user can read. */
function writtenList(list: List, file: string): string {
  try {
    writeFileSync(file, stringify({ plugins: asWritten(list) }, { lineWidth: 0 }), { mode: 0o600 })
  } catch (cause) {
    throw new GatewayError('QUICKSTART_FAILED', `cannot write ${file}: ${fileFailure(cause)}`, { cause })
  }
  return file
}

const asWritten = (list: List): object[] =>
  list.map((item: Entry | Scope) => {
    if (isScope(item)) return { scope: item.scope, plugins: asWritten(item.plugins) }
    const { origin: _, named: __, shortNames: ___, ...entry } = item
    return entry
  })

/** Different ports of 127.0.0.1 that were free a moment ago; the first is the preferred one if it is free. */
async function freePorts(count: number, preferred: number): Promise<readonly number[]> {
  const first = (await listenOn(preferred)) ?? (await listenOn(0))
  const others = await Promise.all(Array.from({ length: count - 1 }, () => listenOn(0)))
  const servers = [first, ...others].filter((server) => server !== undefined)
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  // Only now: a port that is released earlier could be returned twice.
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

async function listenOn(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1')
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  )
}
