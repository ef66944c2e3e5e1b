import type { OptionGroup } from './option.js'
import { sent, targetUri } from './proxy.js'
import { proxyExchangeGroup } from './proxy-exchange.js'
import { proxyOAuthGroup } from './proxy-oauth.js'
import { printPlugins, sharedGroup } from './shared.js'

const general = {
  title: 'General',
  options: [
    targetUri,
    {
      name: 'print-client-config',
      type: 'boolean',
      flagOnly: true,
      help: 'Print what to write into the configuration of common clients, and stop',
    },
    printPlugins,
  ],
} as const satisfies OptionGroup

/** The flags of `sallyport proxy stdio`. */
export const stdioGroups = [
  general,
  { title: 'What the target receives', options: sent },
  proxyOAuthGroup,
  proxyExchangeGroup,
  sharedGroup,
] as const satisfies readonly OptionGroup[]
