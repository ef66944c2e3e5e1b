import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { call, send } from '../../forward/proxied.js'
import { startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin } from './proxy-with-login.js'

test('T15: a caller whose calls the target refuses keeps nobody else from the token that is due', async (t) => {
  const server = await startAuthorizationServer(t)
  const { listener } = server
  Object.assign(server, {
    listener: (...[request, response]: Parameters<typeof listener>) => {
      if (request.url !== '/mcp/refused') return listener(request, response)
      return response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end()
    },
  })
  server.life = 1
  const registrars = [{ use: 'registrar/given', with: { clientId: 'mine', clientSecret: 'my secret' } }]
  const options = { grant: 'client_credentials', login: 'start' }
  const { main } = await proxyWithLogin(t, server.target, options, { registrars })

  const refused: number[] = []
  while (refused.length < 20 && refused.at(-1) !== 503)
    refused.push((await send(main, { ...call(1), path: '/refused' })).status)
  assert.equal(refused.at(-1), 503, 'too many logins for what is refused')

  const logins = server.grantsOf('client_credentials')
  for (const end = Date.now() + 2500; Date.now() < end; await setTimeout(50))
    assert.equal((await send(main, call(1))).status, 200)
  assert.ok(server.grantsOf('client_credentials') >= logins + 2)
})
