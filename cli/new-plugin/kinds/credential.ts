import type { Kind } from '../kind.js'
import { contract, head } from '../test-parts.js'

export const credential: Kind = {
  source: `import { Credential, definePlugin, secretFrom, secretText, UpstreamError } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Sends an API key to the target, in a header of its own.',
  provides: [Credential],
  options: z.strictObject({
    key: secretText().optional().describe('the key; a file is safer'),
    keyFile: z.string().min(1).optional().describe('file that holds the key; read again when it changes'),
    header: z.string().toLowerCase().default('x-api-key').describe('the header that carries it'),
  }),

  setup(gateway, { key: value, keyFile, header }) {
    const { log, scrubber } = gateway
    const file = keyFile === undefined ? undefined : gateway.path(keyFile)
    const key = secretFrom({ value, file }, { log, scrubber })
    gateway.onStop(() => key?.close())
    gateway.provide(Credential, {
      name: 'NAME',
      present() {
        // Without one the target is not asked: a request never goes out bare.
        if (key === undefined) throw new UpstreamError('KEY_MISSING', 'there is no key for the target', { statusCode: 503 })
        return { header, value: key.reveal() }
      },
    })
  },
})
`,

  test: `${head}import { contractSuite, listening, serving } from 'sallyport/testing'

test('the target gets the key, and not what the caller sent', async (t) => {
  const target = await listening(t, ({ headers }, response) => response.end(JSON.stringify(headers)))
  const { addresses } = await serving(t, [
    { use: 'listen/http', with: { address: '127.0.0.1:0' } },
    { use: 'auth/anonymous' },
    { use: plugin, with: { key: 'a-key' } },
    { use: 'forward/http', with: { target } },
  ])
  const answer = await fetch(addresses.main ?? '', { headers: { 'x-api-key': 'mine', authorization: 'Bearer x' } })
  const seen: Record<string, string> = JSON.parse(await answer.text())
  assert.equal(seen['x-api-key'], 'a-key')
  assert.equal(seen['authorization'], undefined)
})
${contract("{ key: 'a-key' }")}`,
}
