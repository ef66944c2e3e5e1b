import type { Entry, List } from 'sallyport'
import { secretText } from 'sallyport/toolkit'
import { z } from 'zod'
import { quickstartTable } from './quickstart/table.js'
import { RegistrySettings, registry } from './registry.js'
import { addedPluginRules, addedPlugins, withAddedPlugins } from './settings/added-plugins.js'
import { settingsSchema } from './settings/schema.js'

const address = z.string().regex(/^127\.0\.0\.1:\d+$/, 'expected 127.0.0.1:PORT')

/** The flags of `sallyport quickstart`. */
export const QuickstartFlags = settingsSchema(quickstartTable, { plugins: addedPlugins })

export type QuickstartFlags = z.output<typeof QuickstartFlags>

/** The addresses of quickstart's parts. Every port is known beforehand, because the parts name each other's URLs. */
export const QuickstartSettings = z
  .strictObject({
    address: address.describe('where the registry is, below /catalogue, and the proxy, below /sample'),
    internalAddress: address.describe('where health and metrics are'),
    issuerAddress: address.describe('where the identity provider is'),
    serverAddress: address.describe('where the sample MCP server is'),
    clientId: z.string().min(1).describe('who gets tokens for the tour'),
    clientSecret: secretText().describe('what gets a token from the identity provider'),
    serverToken: secretText().describe('what the proxy shows to the sample server'),
    servers: z.string().describe('file of the server documents that the registry serves'),
    plugins: addedPlugins,
  })
  .superRefine((settings, context) => addedPluginRules(ownList(settings), settings.plugins, context))

export type QuickstartSettings = z.output<typeof QuickstartSettings>

// The one scope of `dev/issuer`: a client that requests no scope gets none at a sign-in.
const SCOPES = ['mcp']

/** The scopes of the registry and the proxy: siblings, since a caller that a scope accepts is accepted below it too. */
export const PLACES = { registry: '/catalogue', sample: '/sample' } as const

/**
 * A registry and a proxy, each with tokens of its own, with an identity provider and an MCP server, for one machine.
 */
export const quickstart = (settings: QuickstartSettings): List =>
  withAddedPlugins(ownList(settings), settings.plugins).list

function ownList(settings: QuickstartSettings): List {
  const { address, issuerAddress, serverAddress, clientId, clientSecret, serverToken } = settings
  const redirectUri = `http://${address}${PLACES.registry}/sign-in/callback`
  const entries = registry(registrySettings(settings))
  const isDoor = ({ use }: Entry): boolean =>
    typeof use === 'string' && /^(?:listen|internal|log|guard|http)\//.test(use)
  return [
    // First, so that its keys are available when the authenticators fetch them.
    { use: 'dev/issuer', with: { address: issuerAddress, clientId, clientSecret, redirectUri } },
    { use: 'dev/mcp-server', with: { address: serverAddress, token: serverToken } },
    ...entries.filter(isDoor),
    // The ready line shows this address, which a person opens.
    { use: 'http/redirect', with: { to: `${PLACES.registry}/` } },
    { scope: PLACES.registry, plugins: entries.filter((entry) => !isDoor(entry)) },
    { scope: PLACES.sample, plugins: sampleProxy(settings) },
  ]
}

function registrySettings(settings: QuickstartSettings) {
  const { address, internalAddress, issuerAddress, servers, clientId, clientSecret } = settings
  const resource = `http://${address}${PLACES.registry}`
  return RegistrySettings.parse({
    address,
    internalAddress,
    auth: {
      oauth: {
        resourceUrl: resource,
        publicPaths: ['/registry/public'],
        scopes: SCOPES,
        providers: [
          {
            name: 'local',
            issuerUrl: `http://${issuerAddress}`,
            audience: resource,
            allowPrivateIP: true,
          },
        ],
        signIn: { clientId, clientSecret, scopes: ['openid', ...SCOPES] },
      },
    },
    sources: [{ name: 'samples', file: { path: servers } }],
    registries: [
      { name: 'default', sources: ['samples'] },
      { name: 'public', sources: ['samples'] },
    ],
    stateDirectory: null,
  })
}

function sampleProxy({ address, issuerAddress, serverAddress, serverToken }: QuickstartSettings): List {
  const resource = `http://${address}${PLACES.sample}/mcp`
  const issuerUrl = `http://${issuerAddress}`
  return [
    { use: 'discovery/issuer' },
    {
      use: 'auth/oidc',
      with: { name: 'local, for the proxy', issuerUrl, audience: resource, allowPrivateIP: true },
    },
    { use: 'discovery/resource', with: { resource, realm: 'sample', scopes: SCOPES } },
    { use: 'headers/identity', with: { headers: [{ name: 'x-caller', claim: 'sub' }] } },
    { use: 'credential/static-bearer', with: { token: serverToken } },
    { use: 'forward/http', with: { target: `http://${serverAddress}/mcp` } },
  ]
}
