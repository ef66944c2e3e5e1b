import { definePlugin } from 'sallyport'
import { z } from 'zod'
import { checkTogether, egressFields, introspectionFields, tokenFields } from './provider/options.js'
import { examine, omits, provided, setUpProvider } from './provider/set-up.js'

export default definePlugin({
  name: 'auth/introspection',
  api: 1,
  summary: 'Accepts tokens that are active by introspection at their issuer (RFC 7662).',
  provides: provided,
  omits,
  options: z
    .strictObject({
      ...tokenFields,
      ...introspectionFields,
      introspectionUrl: introspectionFields.introspectionUrl.unwrap().describe('the introspection endpoint'),
      ...egressFields,
    })
    .superRefine(checkTogether),
  examine,

  setup(gateway, options) {
    setUpProvider(gateway, { common: options, introspection: options })
  },
})
