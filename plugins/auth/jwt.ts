import { definePlugin } from 'sallyport'
import { z } from 'zod'
import { checkTogether, egressFields, keyFields, tokenFields } from './provider/options.js'
import { examine, omits, provided, setUpProvider } from './provider/set-up.js'

export default definePlugin({
  name: 'auth/jwt',
  api: 1,
  summary: "Accepts JWTs of one issuer, verified with the issuer's own keys.",
  provides: provided,
  omits,
  options: z.strictObject({ ...tokenFields, ...keyFields, ...egressFields }).superRefine(checkTogether),
  examine,

  setup(gateway, options) {
    setUpProvider(gateway, { common: options, keys: options })
  },
})
