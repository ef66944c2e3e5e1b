import { createHmac } from 'node:crypto'
import { ConfigError, Credential, definePlugin } from 'sallyport'
import { secretFrom } from 'sallyport/toolkit'
import { z } from 'zod'

export default definePlugin({
  name: 'hmac',
  api: 1,
  version: '1.0.0',
  summary: 'Signs the body of every request to the target with HMAC-SHA256.',
  provides: [Credential],
  options: z.strictObject({
    keyFile: z.string().min(1).describe('file that holds the key; read again when it changes'),
    maxBytes: z
      .int()
      .positive()
      .default(8 * 1024 * 1024)
      .describe('the most bytes that a body may have'),
  }),

  setup(gateway, { keyFile, maxBytes }) {
    const { log, scrubber } = gateway
    const key = secretFrom({ file: gateway.path(keyFile) }, { log, scrubber })
    if (key === undefined)
      throw new ConfigError([{ place: 'keyFile', message: 'expected a file with the key' }])
    gateway.onStop(() => key.close())
    gateway.provide(Credential, {
      name: 'hmac',
      async present(request) {
        const body = await request.wholeBody(maxBytes)
        const signature = createHmac('sha256', key.reveal()).update(body).digest('hex')
        return { header: 'x-signature', value: `sha256=${signature}` }
      },
    })
  },
})
