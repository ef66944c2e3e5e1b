import { createHash, timingSafeEqual } from 'node:crypto'
import { Authenticator, ConfigError, definePlugin } from 'sallyport'
import { secretFrom } from 'sallyport/toolkit'
import { z } from 'zod'

const digest = (text) => createHash('sha256').update(text).digest()

export default definePlugin({
  name: 'api-key',
  api: 1,
  version: '1.0.0',
  summary: 'Accepts API keys as bearer tokens, with one file for each caller.',
  provides: [Authenticator],
  options: z.strictObject({
    name: z.string().min(1).default('api-key').describe('the provider in logs and metrics'),
    callers: z
      .array(
        z.strictObject({
          subject: z.string().min(1).describe('the holder of the key'),
          keyFile: z.string().min(1).describe('the file that holds it; read again when it changes'),
        }),
      )
      .default([])
      .describe('the callers that are accepted'),
  }),

  setup(gateway, { name, callers }) {
    const keys = callers.map(({ subject, keyFile }, index) => ({
      subject,
      key: open(gateway, keyFile, index),
    }))
    gateway.onStop(() => {
      for (const { key } of keys) key.close()
    })
    gateway.provide(Authenticator, {
      provider: name,
      authenticate({ credentials }) {
        if (credentials.kind !== 'bearer') return { rejection: { kind: 'notMine', cause: 'missing' } }
        const sent = digest(credentials.token)
        // Compares every key in constant time, so that the time of a response reveals nothing about a guess.
        const found = keys.filter(({ key }) => timingSafeEqual(sent, digest(key.reveal())))
        const [holder] = found
        // The key may be for another provider of the list.
        if (holder === undefined) return { rejection: { kind: 'notMine', cause: 'unknown' } }
        return { identity: { provider: name, subject: holder.subject, claims: {} } }
      },
    })
  },
})

function open(gateway, keyFile, index) {
  try {
    return secretFrom({ file: gateway.path(keyFile) }, { scrubber: gateway.scrubber, log: gateway.log })
  } catch (cause) {
    const place = `callers[${index}].keyFile`
    throw new ConfigError([{ place, message: 'cannot be read, or is empty' }], { cause })
  }
}
