import type { Kind } from '../kind.js'
import { contract, head } from '../test-parts.js'

export const audit: Kind = {
  source: `import { AuditSink, definePlugin } from 'sallyport'

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Writes a line to the log for every request that was refused.',
  provides: [AuditSink],

  setup(gateway) {
    gateway.provide(AuditSink, ({ kind, route, causes }) => {
      if (kind === 'refused') gateway.log.info({ route, causes }, 'refused')
    })
  },
})
`,

  test: `${head}import { booted, contractSuite, recordedLog } from 'sallyport/testing'

test('a refusal is written down', async (t) => {
  const { log, lines } = recordedLog()
  const app = await booted(t, [{ use: plugin }], { log })
  assert.equal((await app.inject('/')).statusCode, 401)
  assert.ok(lines.some(({ msg }) => msg === 'refused'))
})
${contract('undefined')}`,
}
