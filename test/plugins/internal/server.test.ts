import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '#kit/ask.js'
import { serving } from '#kit/booted.js'
import { listen } from '#kit/plugin.js'

const internal = { use: 'internal/server', with: { address: '127.0.0.1:0' } }

test('/readiness follows the start and the stop, and the main port serves no internal route', async (t) => {
  const running = await serving(t, [listen, internal, { use: 'internal/metrics' }, { use: 'auth/anonymous' }])
  const { main = '', internal: inner = '' } = running.addresses

  for (const path of ['/health', '/readiness', '/version', '/metrics']) {
    assert.equal((await ask(inner + path)).statusCode, 200, path)
    assert.equal((await ask(main + path)).statusCode, 404, path)
  }
  assert.deepEqual(JSON.parse((await ask(`${inner}/health`)).text), { status: 'healthy' })
  assert.deepEqual(JSON.parse((await ask(`${inner}/readiness`)).text), { status: 'ready' })
  assert.deepEqual(Object.keys(JSON.parse((await ask(`${inner}/version`)).text)), [
    'version',
    'commit',
    'build_date',
    'runtime_version',
    'platform',
  ])
  assert.match(
    (await ask(`${inner}/metrics`)).text,
    /^sallyport_http_requests_total\{method="GET",route="unknown",status="404"\} 4$/m,
  )
})
