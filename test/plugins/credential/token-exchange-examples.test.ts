import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Entry } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { planList } from 'sallyport/embed'
import { parse } from 'yaml'
import { recordedLog, serving } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { issuing } from '#kit/issuer.js'
import { send } from '../forward/proxied.js'
import { bearer, bearers, echo, granting, tokenEndpoint } from './exchanging.js'

const examples = join(import.meta.dirname, '../../../examples/token-exchange')

const listIn = (name: string): readonly Entry[] => parse(readFileSync(join(examples, name), 'utf8')).plugins

type Answering = Parameters<typeof tokenEndpoint>[1]

/** Runs an example with servers of the test, and collects the requests to its token endpoints. */
async function running(t: TestContext, name: string, answering: Answering, claims: object = {}) {
  const issuer = await issuing(t)
  const endpoint = await tokenEndpoint(t, answering)
  const target = await echo(t)
  const home = folder(t, { 'client-secret': 'hidden', 'client-secret-at-target': 'hidden there' })
  const places: Readonly<Record<string, Written>> = {
    'listen/http': { address: '127.0.0.1:0' },
    'auth/oidc': issuer.provider,
    'credential/token-exchange': { allowPrivateIP: true },
    'forward/http': { target: `${target.origin}/mcp` },
  }
  const list = listIn(name).map((entry) =>
    moved(entry, typeof entry.use === 'string' ? places[entry.use] : undefined, endpoint.origin),
  )
  const { log, scrubber } = recordedLog()
  const { addresses } = await serving(t, list, { folder: home, log, scrubber })
  const subject = await issuer.jwt({ ...claims })
  const answer = await send(addresses.main ?? '', { path: '/mcp', ...bearer(subject) })
  const asked = endpoint.asked.map(({ path, form, headers }) => {
    const basic = headers.authorization?.replace('Basic ', '')
    const fields = [...form].map(([field, value]) => [field, value === subject ? 'mine' : value])
    return {
      path,
      form: Object.fromEntries(fields),
      client: basic === undefined ? undefined : Buffer.from(basic, 'base64').toString(),
    }
  })
  return { answer, asked, sent: target.seen.map(({ authorization }) => authorization) }
}

/** The claim that distinguishes an ID token from an access token. */
const ID_TOKEN = { at_hash: 'x' }

type Written = Readonly<Record<string, unknown>>

function moved(entry: Entry, changed: Written | undefined, origin: string): Entry {
  if (changed === undefined) return entry
  const written: Written = { ...Object(entry.with), ...changed }
  const { url } = written
  return {
    ...entry,
    with: typeof url === 'string' ? { ...written, url: origin + new URL(url).pathname } : written,
  }
}

test('every example is a list that boots', async () => {
  const names = readdirSync(examples).filter((file) => file.endsWith('.yaml'))
  assert.equal(names.length, 4)
  for (const name of names) {
    const plan = await planList(listIn(name), { catalogue, folder: examples, log: recordedLog().log })
    assert.ok(plan.items.length > 5, name)
  }
})

test('the plain example sends the request of RFC 8693', async (t) => {
  const { answer, asked, sent } = await running(t, 'rfc8693.yaml', granting({}))

  assert.equal(answer.status, 200)
  assert.deepEqual(asked, [
    {
      path: '/token',
      client: 'gateway:hidden',
      form: {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        audience: 'https://mcp.example.com/mcp',
        scope: 'tools.read tools.call',
        subject_token: 'mine',
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      },
    },
  ])
  assert.deepEqual(sent, ['Bearer new'])
})

test('the Entra example is the on-behalf-of request, whose response has no issued_token_type', async (t) => {
  const client = '11111111-1111-1111-1111-111111111111'
  const { asked, sent } = await running(
    t,
    'entra-on-behalf-of.yaml',
    granting({ issued_token_type: undefined }),
  )

  assert.deepEqual(asked, [
    {
      path: '/00000000-0000-0000-0000-000000000000/oauth2/v2.0/token',
      client: undefined,
      form: {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        client_id: client,
        client_secret: 'hidden',
        assertion: 'mine',
        scope: 'api://target-application/.default',
        requested_token_use: 'on_behalf_of',
      },
    },
  ])
  assert.deepEqual(sent, ['Bearer new'])
})

test('the Google example names a pool, an ID token and no client', async (t) => {
  const { asked, sent } = await running(t, 'google-sts.yaml', granting({}), ID_TOKEN)

  assert.deepEqual(asked, [
    {
      path: '/v1/token',
      client: undefined,
      form: {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        audience:
          '//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/my-pool/providers/my-provider',
        scope: 'https://www.googleapis.com/auth/cloud-platform',
        subject_token: 'mine',
        subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      },
    },
  ])
  assert.deepEqual(sent, ['Bearer new'])
})

const idJag: Answering = (asked, response) => {
  const first = asked.form.has('requested_token_type')
  granting(
    first
      ? {
          access_token: 'the-grant',
          issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
          token_type: 'N_A',
        }
      : { issued_token_type: undefined },
  )(asked, response)
}

test('the ID-JAG example is two exchanges, and the target gets only the last token', async (t) => {
  const { asked, sent } = await running(t, 'id-jag.yaml', idJag, ID_TOKEN)

  assert.deepEqual(asked, [
    {
      path: '/token',
      client: 'gateway:hidden',
      form: {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
        audience: 'https://auth.example.com/',
        resource: 'https://mcp.example.com/mcp',
        scope: 'tools.read',
        subject_token: 'mine',
        subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      },
    },
    {
      path: '/token',
      client: 'gateway-at-target:hidden+there',
      form: { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: 'the-grant' },
    },
  ])
  assert.deepEqual(sent, ['Bearer new'])
})

test('a grant that the second server refuses is not sent to the target', async (t) => {
  const { answer, sent } = await running(
    t,
    'id-jag.yaml',
    (asked, response) => {
      if (asked.form.has('requested_token_type')) idJag(asked, response)
      else response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}')
    },
    ID_TOKEN,
  )

  assert.deepEqual([answer.status, sent], [401, []])
})

test('a list with only the first of the two exchanges stops the boot', async (t) => {
  const home = folder(t, { 'client-secret': 'hidden' })
  const [first] = listIn('id-jag.yaml').filter(({ id }) => id === 'id-jag')
  assert.ok(first !== undefined)

  const list = [bearers, first, { use: 'forward/http', with: { target: 'http://127.0.0.1:9' } }]
  await assert.rejects(serving(t, list, { folder: home }), { name: 'ConfigError' })
})
