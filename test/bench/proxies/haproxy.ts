import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '#kit/free-port.js'
import { startOnPort } from '../contestant.js'
import type { Incoming, ProxyKind, Task } from '../task.js'

export const haproxy: ProxyKind = {
  name: 'HAProxy',
  needs: { command: 'haproxy', packages: 'haproxy' },
  can: ({ incoming, exchange }) => exchange !== true && incoming?.kind !== 'introspection',
  async start(task, home) {
    const port = await freePort()
    const file = join(home, `haproxy-${port}.cfg`)
    writeFileSync(file, configuration(task, port))
    return startOnPort(this.name, port, ['haproxy', '-db', '-q', '-f', file])
  },
}

function configuration({ target, incoming, bearer, headers, tls }: Task, port: number): string {
  const out = { ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }), ...headers }
  return `global
  nbthread 1
  maxconn 5000
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  http-reuse always
frontend callers
  bind 127.0.0.1:${port}${tls === undefined ? '' : ` ssl crt ${tls.both} alpn http/1.1`}
${(incoming?.kind === 'jwt' ? checks(incoming) : []).map((line) => `  http-request ${line}\n`).join('')}${Object.entries(
  out,
)
  .map(([name, value]) => `  http-request set-header ${name} "${value}"\n`)
  .join('')}  default_backend target
backend target
  server target 127.0.0.1:${target}
`
}

/**
 * The checks of Sallyport: the algorithm, issuer, audience and validity of a token, and its signature by the one key.
 */
function checks({ issuer, keyFile }: Extract<Incoming, { kind: 'jwt' }>): readonly string[] {
  return [
    'set-var(txn.bearer) http_auth_bearer',
    "set-var(txn.alg) var(txn.bearer),jwt_header_query('$.alg')",
    "set-var(txn.iss) var(txn.bearer),jwt_payload_query('$.iss')",
    "set-var(txn.aud) var(txn.bearer),jwt_payload_query('$.aud')",
    "set-var(txn.exp) var(txn.bearer),jwt_payload_query('$.exp','int')",
    'set-var(txn.now) date()',
    `deny deny_status 401 unless { var(txn.alg) -m str ${issuer.algorithm} }`,
    `deny deny_status 401 unless { var(txn.iss) -m str ${issuer.url} }`,
    `deny deny_status 401 unless { var(txn.aud) -m str ${issuer.audience} }`,
    'deny deny_status 401 unless { var(txn.exp),sub(txn.now) -m int gt 0 }',
    `deny deny_status 401 unless { var(txn.bearer),jwt_verify(txn.alg,"${keyFile}") 1 }`,
  ]
}
