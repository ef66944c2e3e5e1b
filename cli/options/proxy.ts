import type { Option, OptionGroup } from './option.js'
import { proxyExchangeGroup } from './proxy-exchange.js'
import { proxyIncomingGroup } from './proxy-incoming.js'
import { proxyOAuthGroup } from './proxy-oauth.js'
import { printPlugins, sharedGroup } from './shared.js'
import { workers } from './workers.js'

export const targetUri = {
  name: 'target-uri',
  type: 'url',
  placeholder: 'URL',
  required: true,
  help: 'The MCP server that requests are forwarded to',
} as const satisfies Option

const general = {
  title: 'General',
  options: [
    targetUri,
    {
      name: 'host',
      type: 'string',
      placeholder: 'HOST',
      default: '127.0.0.1',
      help: 'Host or IP address to listen on',
    },
    {
      name: 'port',
      type: 'port',
      placeholder: 'PORT',
      default: '0',
      help: 'Port to listen on; 0 takes a free one, told in the ready line',
    },
    {
      name: 'internal-address',
      type: 'address',
      placeholder: 'HOST:PORT',
      help: 'Serve /health, /readiness, /version and /metrics there',
    },
    {
      name: 'allowed-origins',
      type: 'list',
      placeholder: 'ORIGINS',
      help: 'Browser origins that may use the proxy, compared exactly; on a loopback host those of loopback, unless given',
    },
    {
      name: 'resource-url',
      type: 'url',
      placeholder: 'URL',
      help: "The proxy's own URL as clients know it, for discovery (RFC 9728)",
    },
    workers,
    printPlugins,
  ],
} as const satisfies OptionGroup

/** The credentials and headers that the operator gives. */
export const sent = [
  {
    name: 'remote-auth-bearer-token',
    type: 'string',
    placeholder: 'TOKEN',
    secret: true,
    help: 'Bearer token for the target; other users of this machine can see a flag, so prefer the file',
  },
  {
    name: 'remote-auth-bearer-token-file',
    type: 'string',
    placeholder: 'FILE',
    help: 'File that holds the bearer token for the target',
  },
  {
    name: 'remote-forward-headers',
    type: 'pair',
    placeholder: 'NAME=VALUE',
    secret: true,
    help: 'Header to add to every request to the target',
  },
  {
    name: 'remote-forward-headers-secret',
    type: 'pair',
    placeholder: 'NAME=SECRET-NAME',
    help: 'Header to add whose value is a stored secret: SALLYPORT_SECRET_<NAME>, a file in --secrets-dir, or the keyring',
  },
  {
    name: 'secrets-dir',
    type: 'string',
    placeholder: 'DIR',
    help: 'Directory with one file for each secret, named like it',
  },
] as const satisfies readonly Option[]

const outgoing = {
  title: 'What the target receives',
  options: [
    ...sent,
    {
      name: 'remote-forward-claims',
      type: 'pair',
      placeholder: 'NAME=CLAIM',
      help: "Header to add whose value is a claim of the caller's checked token, such as X-User=sub",
    },
    {
      name: 'forward-authorization',
      type: 'boolean',
      help: "Send the caller's Authorization on after it was checked here",
    },
    {
      name: 'forward-cookies',
      type: 'boolean',
      help: "Send the caller's cookies on after its token was checked here",
    },
    {
      name: 'forwarded-headers',
      type: 'boolean',
      help: 'Tell the target who asked, in Forwarded and X-Forwarded-*',
    },
  ],
} as const satisfies OptionGroup

const targetTimeout = {
  name: 'target-timeout',
  type: 'duration',
  placeholder: 'DURATION',
  help: 'How long the target may take to begin its answer; 60s unless given, and none for streams',
} as const satisfies Option

const limits = {
  title: 'Limits',
  options: [
    targetTimeout,
    {
      name: 'max-body',
      type: 'size',
      placeholder: 'BYTES',
      help: 'Largest request body, such as 16MiB; without limit unless given',
    },
    {
      name: 'max-connections',
      type: 'int',
      min: 1,
      placeholder: 'COUNT',
      help: 'Most connections at once; without limit unless given',
    },
  ],
} as const satisfies OptionGroup

/** The flags of `sallyport proxy`, in the order of its help. */
export const proxyGroups = [
  general,
  proxyIncomingGroup,
  outgoing,
  proxyOAuthGroup,
  proxyExchangeGroup,
  limits,
  sharedGroup,
] as const satisfies readonly OptionGroup[]
