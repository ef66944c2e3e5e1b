import type { Kind } from '../kind.js'
import { head } from '../test-parts.js'

export const authenticator: Kind = {
  source: `import { createHash, timingSafeEqual } from 'node:crypto'
import { Authenticator, definePlugin, secretFrom, secretText } from 'sallyport'
import { z } from 'zod'

const digest = (text: string) => createHash('sha256').update(text).digest()

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Accepts one key, sent as a bearer token.',
  provides: [Authenticator],
  options: z.strictObject({
    name: z.string().min(1).default('NAME').describe('the provider in logs and metrics'),
    key: secretText().describe('the key that is accepted'),
    subject: z.string().min(1).default('key').describe('who its holder is taken for'),
  }),

  setup(gateway, { name, key: written, subject }) {
    const key = secretFrom({ value: written }, { scrubber: gateway.scrubber })
    gateway.onStop(() => key?.close())
    gateway.provide(Authenticator, {
      provider: name,
      authenticate({ credentials }) {
        if (credentials.kind !== 'bearer') return { rejection: { kind: 'notMine', cause: 'missing' } }
        // Of equal length and in equal time, whatever was sent.
        const equal = key !== undefined && timingSafeEqual(digest(credentials.token), digest(key.reveal()))
        return equal
          ? { identity: { provider: name, subject, claims: {} } }
          : { rejection: { kind: 'notMine', cause: 'unknown' } }
      },
    })
  },
})
`,

  test: `${head}import { contractSuite, gateOf } from 'sallyport/testing'

test('the key is let in, and nothing else is', async (t) => {
  const { knock } = await gateOf(t, [{ use: plugin, with: { key: 'open-sesame' } }])
  assert.equal((await knock('Bearer open-sesame')).status, 200)
  assert.equal((await knock('Bearer open-sesam')).status, 401)
  assert.equal((await knock()).status, 401)
})

contractSuite('NAME', () => ({
  list: [{ use: plugin, with: { key: 'open-sesame' } }],
  facts: { token: 'open-sesame' },
}))
`,
}
