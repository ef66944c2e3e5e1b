import { definePlugin } from 'sallyport'
import { z } from 'zod'
import {
  checkTogether,
  egressFields,
  introspectionFields,
  keyFields,
  tokenFields,
} from './provider/options.js'
import { examine, omits, provided, setUpProvider } from './provider/set-up.js'

export default definePlugin({
  name: 'auth/oidc',
  api: 1,
  summary:
    'Accepts tokens of one identity provider: verifies JWTs with its keys, and others by introspection where `introspectionUrl` is set.',
  provides: provided,
  omits,
  options: z
    .strictObject({ ...tokenFields, ...keyFields, ...introspectionFields, ...egressFields })
    .superRefine(checkTogether),
  examine,

  setup(gateway, options) {
    setUpProvider(gateway, { common: options, keys: options, introspection: options })
  },
})
