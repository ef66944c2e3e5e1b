import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { test } from 'node:test'
import { closedPort, listening } from '#kit/listening.js'
import { ofTwo, once } from './several.js'

const SIGN_IN = /^Open this URL to sign in: /gm

test('the callback port of a login belongs only to the worker that waits there (CL-22)', async (t) => {
  const target = await listening(t, (_request, response) =>
    response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(),
  )
  const { port } = new URL(await closedPort())
  // Two logins have a lock each, so nothing but the port itself keeps them apart.
  const scope = (name: string): string => `
  - scope: /${name}
    plugins:
      - use: credential/oauth
        with:
          target: ${target}/${name}
          authorizationUrl: ${target}/authorize
          tokenUrl: ${target}/token
          callbackPort: ${port}
          callbackPortFixed: true
          openBrowser: false
          allowPrivateIP: true
          login: demand
      - { use: forward/http, with: { target: '${target}/${name}' } }`
  const gateway = await ofTwo(t, {
    further: `
  - { use: auth/anonymous }
  - { use: state/sqlite, with: { directory: ./kept } }
  - { use: registrar/given, with: { clientId: me, place: '${target}/token' } }
${['one', 'two'].map(scope).join('')}`,
  })
  const keeping = (): Agent => new Agent({ keepAlive: true, maxSockets: 1 })
  const [first, second] = [keeping(), keeping()]
  t.after(() => {
    for (const agent of [first, second]) agent.destroy()
  })
  const pids = await Promise.all([first, second].map((agent) => once(gateway.url, 'who', agent)))
  assert.equal(new Set(pids.map(({ body }) => body)).size, 2)

  void once(`${gateway.url}/one/one`, 'one', first)
  await gateway.until(/^Open this URL to sign in: /m)
  const { status, body = '' } = await once(`${gateway.url}/two/two`, 'two', second)
  assert.deepEqual([status, JSON.parse(body).error], [503, 'callback_port_taken'])
  assert.equal(gateway.output.stderr.match(SIGN_IN)?.length, 1)
})
