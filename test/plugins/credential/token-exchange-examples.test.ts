import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Entry, planList } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { parse } from 'yaml'
import { recordedLog } from '../../kit/booted.js'
import { folder } from '../../kit/folder.js'
import { asking } from '../forward/proxied.js'
import { bearer, bearers, echo, gatewayOf, granting, tokenEndpoint } from './exchanging.js'

const examples = join(import.meta.dirname, '../../../examples/token-exchange')

const listIn = (name: string): readonly Entry[] => parse(readFileSync(join(examples, name), 'utf8')).plugins

type Answering = Parameters<typeof tokenEndpoint>[1]

/** The exchanges of an example as they stand there, but with an endpoint of the test, and what that was asked. */
async function running(t: TestContext, name: string, answering: Answering) {
  const home = folder(t, { 'client-secret': 'hidden', 'client-secret-at-target': 'hidden there' })
  const endpoint = await tokenEndpoint(t, answering)
  const target = await echo(t)
  const exchanges = listIn(name)
    .filter(({ use }) => use === 'credential/token-exchange')
    .map((entry) => ({ ...entry, with: moved(entry, endpoint.origin, home) }))
  const { main } = await gatewayOf(t, target.origin, [bearers, ...exchanges])
  const answer = await asking(main, bearer('mine'))
  const asked = endpoint.asked.map(({ path, form, headers }) => {
    const basic = headers.authorization?.replace('Basic ', '')
    return {
      path,
      form: Object.fromEntries(form),
      client: basic === undefined ? undefined : Buffer.from(basic, 'base64').toString(),
    }
  })
  return { answer, asked, sent: target.seen.map(({ authorization }) => authorization) }
}

function moved({ with: options }: Entry, origin: string, home: string): Readonly<Record<string, unknown>> {
  const written: Readonly<Record<string, unknown>> = { ...Object(options) }
  const { url, clientSecretFile: file } = written
  return {
    ...written,
    url: origin + new URL(typeof url === 'string' ? url : '').pathname,
    allowPrivateIP: true,
    ...(typeof file === 'string' && { clientSecretFile: join(home, file) }),
  }
}

test('every example is a list that boots', async () => {
  const names = readdirSync(examples)
  assert.equal(names.length, 4)
  for (const name of names) {
    const plan = await planList(listIn(name), { catalogue, folder: examples, log: recordedLog().log })
    assert.ok(plan.items.length > 5, name)
  }
})

test('the plain example asks as RFC 8693 says', async (t) => {
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

test('the Entra example is the on-behalf-of request, whose answer has no issued_token_type', async (t) => {
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
  const { asked, sent } = await running(t, 'google-sts.yaml', granting({}))

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

test('the ID-JAG example is two exchanges, and the target sees the last token only', async (t) => {
  const { asked, sent } = await running(t, 'id-jag.yaml', idJag)

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

test('a grant that the second server refuses does not go to the target', async (t) => {
  const { answer, sent } = await running(t, 'id-jag.yaml', (asked, response) => {
    if (asked.form.has('requested_token_type')) idJag(asked, response)
    else response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}')
  })

  assert.deepEqual([answer.status, sent], [401, []])
})

test('a list that ends with the first of the two stops the boot', async (t) => {
  const endpoint = await tokenEndpoint(t, idJag)
  const exchanges = listIn('id-jag.yaml').filter(({ use }) => use === 'credential/token-exchange')
  const home = folder(t, { 'client-secret': 'hidden' })
  const [first] = exchanges.map((entry) => ({ ...entry, with: moved(entry, endpoint.origin, home) }))
  assert.ok(first !== undefined)

  await assert.rejects(gatewayOf(t, 'http://127.0.0.1:9', [bearers, first]), { name: 'ConfigError' })
})
