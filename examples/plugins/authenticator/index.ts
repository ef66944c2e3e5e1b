import { createHash, timingSafeEqual } from 'node:crypto'
import { Authenticator, ConfigError, definePlugin } from 'sallyport'
import { secretFrom, secretText } from 'sallyport/toolkit'
import { z } from 'zod'

const digest = (text: string) => createHash('sha256').update(text).digest()

export default definePlugin({
  name: 'my-authenticator',
  api: 1,
  version: '0.1.0',
  summary: 'Accepts one key, sent as a bearer token.',
  provides: [Authenticator],
  options: z.strictObject({
    name: z.string().min(1).default('my-authenticator').describe('the provider in logs and metrics'),
    key: secretText().optional().describe('the key that is accepted; a file is safer'),
    keyFile: z.string().min(1).optional().describe('file that holds the key; read again when it changes'),
    subject: z.string().min(1).default('key').describe('the subject of a request with the key'),
  }),

  setup(gateway, { name, key: value, keyFile, subject }) {
    const { log, scrubber } = gateway
    const file = gateway.path(keyFile)
    const key = secretFrom({ value, file }, { log, scrubber })
    if (key === undefined) {
      throw new ConfigError([{ place: 'keyFile', message: 'expected a file that holds the key, or key' }])
    }
    gateway.onStop(() => key.close())
    gateway.provide(Authenticator, {
      provider: name,
      authenticate({ credentials }) {
        if (credentials.kind !== 'bearer') return { rejection: { kind: 'notMine', cause: 'missing' } }
        // Compares digests of equal length in constant time, so that the time of a response reveals nothing about a guess.
        if (timingSafeEqual(digest(credentials.token), digest(key.reveal()))) {
          return { identity: { provider: name, subject, claims: {} } }
        }
        // The token may be for another authenticator of the list.
        return { rejection: { kind: 'notMine', cause: 'unknown' } }
      },
    })
  },
})
