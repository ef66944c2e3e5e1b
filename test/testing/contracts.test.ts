import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AuditSink, definePlugin } from 'sallyport'
import { contractSuite, issuing, listening } from 'sallyport/testing'
import { folder } from '../kit/folder.js'

contractSuite('guard/host', () => ({
  list: [{ use: 'guard/host', with: { allowed: ['registry.example'], loopback: true } }],
}))
contractSuite('guard/origin', () => ({
  list: [{ use: 'guard/origin', with: { allowed: ['https://app.example'], loopback: true } }],
}))

contractSuite('auth/jwt', async (t) => {
  const issuer = await issuing(t)
  const list = [{ use: 'discovery/issuer' }, { use: 'auth/jwt', with: issuer.provider }]
  return { list, facts: { token: await issuer.jwt() } }
})
contractSuite('auth/introspection', async (t) => {
  const issuer = await issuing(t)
  const settings = { ...issuer.provider, introspectionUrl: issuer.introspectionUrl }
  return { list: [{ use: 'auth/introspection', with: settings }], facts: { token: issuer.opaque() } }
})

contractSuite('credential/static-bearer', () => ({
  list: [{ use: 'credential/static-bearer', with: { token: 'a-token-of-ours' } }],
}))
contractSuite('credential/token-exchange', async (t) => {
  const issuer = await issuing(t)
  const exchange = { url: issuer.tokenUrl, allowPrivateIP: true }
  return {
    list: [
      { use: 'discovery/issuer' },
      { use: 'auth/jwt', with: issuer.provider },
      { use: 'credential/token-exchange', with: exchange },
    ],
    facts: { token: await issuer.jwt() },
  }
})
contractSuite('headers/static and headers/identity', () => ({
  list: [
    { use: 'headers/static', with: { headers: [{ name: 'X-One', value: '1' }] } },
    { use: 'headers/identity', with: { headers: [{ name: 'X-User', claim: 'sub' }] } },
  ],
}))

contractSuite('secrets/directory', (t) => {
  const path = folder(t, {})
  writeFileSync(join(path, 'key'), 'the value of it', { mode: 0o600 })
  return {
    list: [{ use: 'secrets/directory', with: { path } }],
    facts: { secret: { name: 'key', value: 'the value of it' } },
  }
})
contractSuite('secrets/environment', () => ({ list: [{ use: 'secrets/environment' }] }))
contractSuite('secrets/encrypted-file', (t) => {
  const home = folder(t, {})
  writeFileSync(join(home, 'passphrase'), 'correct horse battery staple', { mode: 0o600 })
  const settings = { path: join(home, 'secrets'), passphraseFile: join(home, 'passphrase') }
  return { list: [{ use: 'secrets/encrypted-file', with: settings }] }
})
contractSuite('state/memory', () => ({ list: [{ use: 'state/memory' }] }))
contractSuite('state/files', (t) => ({
  list: [{ use: 'state/files', with: { directory: folder(t, {}) } }],
}))

const LIST = '[{"name":"com.example/one","description":"One.","version":"1.0.0"}]'

contractSuite('source/file', (t) => {
  const path = join(folder(t, { 'servers.json': LIST }), 'servers.json')
  return { list: [{ use: 'source/file', with: { name: 'own', path } }] }
})
contractSuite('source/http', async (t) => {
  const url = await listening(t, (_request, response) =>
    response.end(`{"servers":[{"server":${LIST.slice(1, -1)}}],"metadata":{"count":1}}`),
  )
  return { list: [{ use: 'source/http', with: { name: 'other', url, allowPrivateIP: true } }] }
})

contractSuite('every registrar', () => ({
  list: [
    { use: 'state/memory' },
    {
      use: 'registrar/given',
      with: { clientId: 'ours', clientSecret: 'kept', issuer: 'https://one.example' },
    },
    { use: 'registrar/remembered' },
    { use: 'registrar/metadata-document', with: { url: 'https://ours.example/client.json' } },
    { use: 'registrar/dynamic' },
  ],
}))

contractSuite('internal/metrics and the health of the gateway', () => ({
  list: [{ use: 'internal/server', with: { address: '127.0.0.1:0' } }, { use: 'internal/metrics' }],
}))
contractSuite('a sink of somebody', () => ({
  list: [
    {
      use: definePlugin({
        name: 'sink',
        api: 1,
        provides: [AuditSink],
        setup: (gateway) => gateway.provide(AuditSink, ({ route }) => gateway.log.info({ route }, 'seen')),
      }),
    },
  ],
}))
