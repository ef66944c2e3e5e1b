import { ProxySettings, proxy as proxyList } from 'sallyport/presets/proxy'
import type { z } from 'zod'
import type { Outcome } from '../config/outcome.js'
import { settle } from '../config/settle.js'
import { type Preset, runGateway } from '../gateway.js'
import type { Invocation, OptionValue } from '../options/option.js'
import { settingOf, settingsOf } from './proxy-settings.js'
import { internalPart } from './ready-line.js'

/** Stands in front of one MCP server. */
export const proxy = (invocation: Invocation): Promise<number> => runGateway(preset, invocation)

const preset: Preset<ProxySettings> = {
  read: async (invocation) => readProxySettings(invocation),
  list: proxyList,
  readyLine: ({ name, targetUri }, addresses) =>
    `sallyport proxy "${name}" listening on ${addresses.main} -> ${targetUri}${internalPart(addresses)}`,
}

// Flags of the command that say how it is run, and not what it does.
const ABOUT_THE_RUN = ['debug', 'printPlugins', 'printClientConfig', 'workers', 'help', 'version']

/** What `sallyport proxy` was told, by flags and environment. */
export function readProxySettings(invocation: Invocation): Outcome<ProxySettings>
export function readProxySettings<Settings>(
  invocation: Invocation,
  schema: z.ZodType<Settings>,
): Outcome<Settings>
export function readProxySettings(
  invocation: Invocation,
  schema: z.ZodType = ProxySettings,
): Outcome<unknown> {
  const { given, positionals } = invocation
  const settings = {
    ...settingsOf(invocation),
    ...(positionals[0] !== undefined && { name: positionals[0] }),
  }
  const value = Object.fromEntries(Object.entries(settings).filter(([name]) => !ABOUT_THE_RUN.includes(name)))
  const places = new Map([...given].map(([flag, { place }]) => [settingOf(flag), place]))
  return settle(schema, {
    value,
    folder: process.cwd(),
    secrets: secretsOf(invocation),
    locate: ([setting = '']) => places.get(String(setting)) ?? flagOf(String(setting)),
  })
}

const flagOf = (setting: string): string =>
  setting === 'name'
    ? 'SERVER_NAME'
    : `--${setting.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** Whatever was given for an option that the table calls secret. */
function secretsOf({ command, given }: Invocation): Set<string> {
  const names = command.groups.flatMap(({ options }) => options).filter(({ secret }) => secret === true)
  return new Set(names.flatMap(({ name }) => textsOf(given.get(name)?.value)))
}

function textsOf(value: OptionValue | undefined): string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.map((item) => (typeof item === 'string' ? item : item.value)) : []
}
