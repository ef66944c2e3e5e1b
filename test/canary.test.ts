import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { issuing } from '#kit/issuer.js'
import { listening } from '#kit/listening.js'
import { oidcSettings } from '#kit/oidc-settings.js'
import { type StartedProgram, startedProgram } from '#kit/started-program.js'

/** A value that occurs nowhere else, in the encodings in which it could leak. */
function canary(name: string): string {
  return `canary-${name}-${Math.random().toString(36).slice(2)}`
}

function spellings(value: string): string[] {
  return [
    value,
    encodeURIComponent(value),
    Buffer.from(value).toString('base64').replace(/=+$/, ''),
    JSON.stringify(value).slice(1, -1),
  ]
}

function assertNowhere(text: string, values: Readonly<Record<string, string>>, where: string): void {
  for (const [name, value] of Object.entries(values)) {
    for (const spelling of spellings(value)) assert.ok(!text.includes(spelling), `${name} stands in ${where}`)
  }
}

async function ended(running: StartedProgram): Promise<string> {
  running.stop()
  assert.equal(await running.ended(), 0)
  return running.output.stdout + running.output.stderr
}

/** Everything that callers receive, as one text. */
async function responsesTo(
  url: string,
  requests: readonly RequestInit[],
  paths: readonly string[],
): Promise<string> {
  let text = ''
  for (const path of paths) {
    for (const request of requests) {
      const answer = await fetch(url + path, request)
      text += `${answer.status} ${JSON.stringify([...answer.headers])} ${await answer.text()}\n`
    }
  }
  return text
}

test('T10, RS-31: the proxy at debug level leaks no secret', async (t) => {
  const issuer = await issuing(t)
  const target = await listening(t, (request, response) => {
    if (request.url?.startsWith('/mcp/broken') === true) response.destroy()
    else response.writeHead(request.url?.startsWith('/mcp/no') === true ? 401 : 200).end('answer')
  })
  const values = {
    bearer: canary('bearer'),
    header: canary('header'),
    stored: canary('stored'),
    client: canary('client'),
    cookie: canary('cookie'),
    query: canary('query'),
    body: canary('body'),
    opaque: issuer.opaque(),
    unknown: canary('unknown'),
  }
  const jwt = await issuer.jwt()
  const home = folder(t, { bearer: values.bearer, client: values.client, 'secrets/stored': values.stored })
  for (const file of ['bearer', 'client', 'secrets/stored']) chmodSync(join(home, file), 0o600)

  const proxy = startedProgram(
    t,
    [
      'proxy',
      'canary',
      '--debug',
      `--target-uri=${target}/mcp`,
      '--internal-address=127.0.0.1:0',
      `--oidc-issuer=${issuer.url}`,
      `--oidc-audience=${issuer.audience}`,
      '--oidc-allow-private-ip',
      `--oidc-introspection-url=${issuer.introspectionUrl}`,
      '--oidc-client-id=me',
      `--oidc-client-secret-file=${join(home, 'client')}`,
      `--remote-auth-bearer-token-file=${join(home, 'bearer')}`,
      `--secrets-dir=${join(home, 'secrets')}`,
      '--remote-forward-headers-secret=X-Stored=stored',
    ],
    { cwd: home, environment: { SALLYPORT_REMOTE_FORWARD_HEADERS: `X-Fixed=${values.header}` } },
  )
  const url = await proxy.ready()

  const tokens = [
    jwt,
    values.opaque,
    values.unknown,
    `${jwt.slice(0, -4)}AAAA`,
    `${values.unknown} ${values.unknown}`,
  ]
  const requests = tokens.flatMap((token) =>
    ['GET', 'POST'].map((method) => ({
      method,
      headers: {
        authorization: `Bearer ${token}`,
        cookie: `session=${values.cookie}`,
        'content-type': 'application/json',
      },
      ...(method === 'POST' && { body: JSON.stringify({ secret: values.body }) }),
    })),
  )
  const answers = await responsesTo(url, requests, [
    '/',
    `/x?access_token=${values.query}`,
    '/no',
    '/broken',
    `/%zz?code=${values.query}`,
  ])
  assert.match(answers, /^200 /m)
  assert.match(answers, /^401 /m)
  assert.match(answers, /^502 /m)

  const output = await ended(proxy)
  assert.ok(output.includes('"refused"'))
  const signature = jwt.split('.')[2] ?? ''
  assertNowhere(output, { ...values, jwt, signature }, 'the output')
  assertNowhere(answers, { ...values, jwt, signature }, 'an answer')
  assert.deepEqual(readdirSync(home).toSorted(), ['bearer', 'client', 'secrets'], 'no file was written')
})

test('T10: logs, audits and traces name every call, and hold no content of it', async (t) => {
  const issuer = await issuing(t)
  const values = {
    argument: canary('argument'),
    result: canary('result'),
    failure: canary('failure'),
    query: canary('query'),
    user: canary('user'),
    meta: canary('meta'),
    session: canary('session'),
    stored: canary('stored'),
    receiver: canary('receiver'),
    collector: canary('collector'),
  }
  const target = await listening(t, (request, response) => {
    void text(request).then((body) => {
      const { id, method } = JSON.parse(body)
      const content = [{ type: 'text', text: values.result }]
      const answer =
        method === 'tools/call'
          ? { result: { isError: true, content, structuredContent: { value: values.result } } }
          : { error: { code: -32000, message: values.failure, data: values.failure } }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    })
  })
  let sent = ''
  const outside = await listening(t, (request, response) => {
    void text(request).then((body) => {
      sent += body
      response.end('{}')
    })
  })
  const home = folder(t, {
    bearer: values.stored,
    receiver: values.receiver,
    collector: values.collector,
    'proxy.json': JSON.stringify({
      targetUri: `${target}/mcp`,
      ...oidcSettings(issuer),
      remoteAuthBearerTokenFile: './bearer',
      internalAddress: '127.0.0.1:0',
      plugins: [
        { use: 'policy/tools', with: { rules: [{ allow: ['*', 'resource:*'] }, { deny: ['drop'] }] } },
        { use: 'audit/file', with: { path: './audit.jsonl' } },
        {
          use: 'audit/http',
          with: { url: `${outside}/in`, bearerTokenFile: './receiver', allowPrivateIP: true },
        },
        {
          use: 'trace/otlp',
          with: { url: `${outside}/v1/traces`, sample: 1, bearerTokenFile: './collector' },
        },
      ],
    }),
  })
  for (const file of ['bearer', 'receiver', 'collector']) chmodSync(join(home, file), 0o600)
  const proxy = startedProgram(t, ['proxy', 'canary', '--debug', '--config=proxy.json'], {
    cwd: home,
    environment: { SALLYPORT_INSECURE_HTTP: '1' },
  })
  const url = await proxy.ready()
  const jwt = await issuer.jwt()
  const calls = [
    [
      'tools/call',
      { name: 'add', arguments: { [values.argument]: values.argument }, _meta: { own: values.meta } },
    ],
    ['tools/call', { name: 'drop', arguments: { a: values.argument } }],
    ['resources/read', { uri: `https://${values.user}:x@a.example/b?token=${values.query}#${values.query}` }],
    ['made/up', { anything: values.argument }],
  ] as const
  for (const [method, params] of calls) {
    await fetch(`${url}?access_token=${values.query}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${jwt}`,
        'content-type': 'application/json',
        cookie: `a=${values.session}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    }).then((answer) => answer.text())
  }
  const internal = /health and metrics on (http:\S+)\)/.exec(proxy.output.stdout)?.[1] ?? ''
  const metrics = await (await fetch(`${internal}/metrics`)).text()
  const output = await ended(proxy)
  const written = readFileSync(join(home, 'audit.jsonl'), 'utf8')
  for (const [where, text, expected] of [
    ['the audit file', written, /"name":"drop".*"outcome":"denied"/],
    ['the audit file', written, /"name":"add".*"outcome":"failed".*tool_error/],
    ['what is sent', sent, /https:\/\/a\.example\/b/],
    ['what is sent', sent, /tools\/call add/],
    ['the metrics', metrics, /mcp_server_operation_duration_seconds_count\{[^}]*tools\/call/],
    ['the output', output, /POLICY_DENIED/],
  ] as const) {
    assert.match(text, expected, where)
    assertNowhere(text, { ...values, jwt, signature: jwt.split('.')[2] ?? '' }, where)
  }
})

test('T10, RS-31: the registry at debug level leaks no secret', async (t) => {
  const issuer = await issuing(t)
  const values = {
    client: canary('client'),
    token: canary('token'),
    source: canary('source'),
    query: canary('query'),
    cookie: canary('cookie'),
  }
  const jwt = await issuer.jwt()
  const upstream = await listening(t, (_request, response) => response.writeHead(500).end(values.source))
  const home = folder(t, {
    client: values.client,
    token: values.token,
    'registry.yaml': `
address: 127.0.0.1:0
internalAddress: 127.0.0.1:0
stateDirectory: ./state
auth:
  oauth:
    resourceUrl: http://127.0.0.1:1
    providers:
      - name: corp
        issuerUrl: ${issuer.url}
        audience: ${issuer.audience}
        allowPrivateIP: true
        introspectionUrl: ${issuer.introspectionUrl}
        clientId: me
        clientSecretFile: ./client
sources:
  - name: upstream
    http: { url: '${upstream}', allowPrivateIP: true, headers: { X-Key: '\${env:SOURCE_KEY}' }, bearerTokenFile: ./token }
registries:
  - { name: default, sources: [upstream] }
`,
  })
  const registry = startedProgram(t, ['registry', '--debug', '--config', 'registry.yaml'], {
    cwd: home,
    environment: { SOURCE_KEY: values.source },
  })
  const url = await registry.ready()
  const internal = /metrics on (http:\S+)\)/.exec(registry.output.stdout)?.[1] ?? assert.fail()

  const requests = [jwt, 'wrong-token', `${jwt.slice(0, -4)}AAAA`].map((token) => ({
    headers: { authorization: `Bearer ${token}`, cookie: `a=${values.cookie}` },
  }))
  const answers = await responsesTo(url, requests, [
    '/',
    `/registry/default/v0.1/servers?cursor=${values.query}`,
    '/openapi.json',
    '/nowhere',
  ])
  const inner = await responsesTo(internal, [{}], ['/metrics', '/readiness', '/version'])

  const output = await ended(registry)
  const kept = readdirSync(home, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath.includes('state'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join()
  const signature = jwt.split('.')[2] ?? ''
  for (const [where, text] of Object.entries({ output, answers, inner, kept }))
    assertNowhere(text, { ...values, jwt, signature }, where)
})
