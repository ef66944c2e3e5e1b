import { ConfigError, Credential, definePlugin, GatewayError } from 'sallyport'
import { headerName, isHeaderValue, secretFrom, secretText } from 'sallyport/toolkit'
import { z } from 'zod'

export default definePlugin({
  name: 'my-credential',
  api: 1,
  version: '0.1.0',
  summary: 'Sends an API key to the target, in a header of its own.',
  provides: [Credential],
  options: z.strictObject({
    key: secretText().optional().describe('the key; a file is safer'),
    keyFile: z.string().min(1).optional().describe('file that holds the key; read again when it changes'),
    header: headerName().default('x-api-key').describe('the header with the key'),
  }),

  setup(gateway, { key: value, keyFile, header }) {
    const { log, scrubber } = gateway
    const file = gateway.path(keyFile)
    const key = secretFrom({ value, file }, { log, scrubber, check })
    // The target never gets a request without the key.
    if (key === undefined) {
      throw new ConfigError([{ place: 'keyFile', message: 'expected a file that holds the key, or key' }])
    }
    gateway.onStop(() => key.close())
    gateway.provide(Credential, {
      name: 'my-credential',
      present: () => ({ header, value: key.reveal() }),
    })
  },
})

/** Checks each new key in the file too: an unusable one is logged, and the last good one stays. */
function check(key: string, place: string): void {
  if (!isHeaderValue(key))
    throw new GatewayError('KEY_UNUSABLE', `the key in ${place} cannot stand in a header`)
}
