import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { catalogue } from 'sallyport/builtin'
import { createLog, serve } from 'sallyport/embed'
import { Person } from '#kit/person.js'
import { installed } from './installed.js'

// The official suite's scenarios of authorization servers, with the broker as the server. A person signs in by the
// developer issuer and allows the suite's client: `npm run conformance:authorization`.
const SUITE = '@modelcontextprotocol/conformance'
const VERSION = '0.2.0-alpha.12'
const CALLBACK_PORT = 3918
const CALLBACK = `http://127.0.0.1:${CALLBACK_PORT}/callback`
const ORIGIN = 'http://127.0.0.1:3919'
const ISSUER = '127.0.0.1:3920'
const CLIENT = { clientId: 'gateway', clientSecret: 'only for this run' }

const print = (line: string): void => void process.stdout.write(`${line}\n`)

const folder = mkdtempSync(join(tmpdir(), 'sallyport-authorization-'))
const given = { clientId: 'suite', name: 'The suite', redirectUris: [CALLBACK] }
const list = [
  { use: 'listen/http', with: { address: new URL(ORIGIN).host } },
  { use: 'dev/issuer', with: { address: ISSUER, ...CLIENT, redirectUri: `${ORIGIN}/oauth/callback` } },
  { use: 'discovery/issuer' },
  {
    use: 'login/oidc',
    with: { issuerUrl: `http://${ISSUER}`, ...CLIENT, scopes: ['openid'], allowPrivateIP: true },
  },
  { use: 'state/memory' },
  {
    use: 'issuer/broker',
    with: {
      resourceUrl: `${ORIGIN}/mcp`,
      keyFile: './broker.key',
      scopes: ['mcp'],
      clients: { given: [given] },
    },
  },
  { use: 'discovery/resource', with: { resource: `${ORIGIN}/mcp` } },
]
const running = await serve(list, { catalogue, folder, log: createLog({ level: 'warn' }) })
const suite = await installed([`${SUITE}@${VERSION}`])

const argv = [
  'authorization',
  '--url',
  ORIGIN,
  '--client-id',
  given.clientId,
  '--port',
  String(CALLBACK_PORT),
]
const { code, stdout } = await suite.run(SUITE, [...argv, '--resource', `${ORIGIN}/mcp`], (line) => {
  const [url] = /http\S+\/oauth\/authorize\?\S+/.exec(line) ?? []
  if (url !== undefined) void new Person().follow(url)
})
print(stdout)
if (code !== 0) process.exitCode = 1
await running.stop()
suite.remove()
rmSync(folder, { recursive: true, force: true })
