import { definePlugin } from 'sallyport'
import { z } from 'zod'
import { checkTogether, egressFields, introspectionFields, tokenFields } from './provider/options.js'
import { provided, setUpProvider } from './provider/set-up.js'

export default definePlugin({
  name: 'auth/introspection',
  api: 1,
  summary: 'Accepts tokens that their issuer calls active when it is asked (RFC 7662).',
  provides: provided,
  options: z
    .strictObject({
      ...tokenFields,
      ...introspectionFields,
      introspectionUrl: introspectionFields.introspectionUrl.unwrap().describe('the introspection endpoint'),
      ...egressFields,
    })
    .superRefine(checkTogether),

  setup(gateway, options) {
    setUpProvider(gateway, { common: options, introspection: options })
  },
})
