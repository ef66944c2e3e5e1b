import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { folder } from './folder.js'

export interface Identity {
  readonly key: string
  readonly cert: string
}

/** A private certificate authority. */
export interface Authority {
  /** Its certificate, as a file. */
  readonly file: string
  readonly certificate: string
  /** A certificate for these names and addresses; with fewer than no days it has expired. */
  issue(names: readonly string[], days?: number): Identity
}

export function authority(t: TestContext): Authority {
  const place = folder(t)
  const at = (name: string) => join(place, name)
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const newKey = (name: string) => [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    at(name),
  ]
  openssl(
    'req',
    '-x509',
    ...newKey('ca.key'),
    '-out',
    at('ca.pem'),
    '-days',
    '2',
    '-subj',
    '/CN=test authority',
  )

  let issued = 0
  return {
    file: at('ca.pem'),
    certificate: readFileSync(at('ca.pem'), 'utf8'),
    issue(names, days = 2) {
      const id = String(++issued)
      const alternatives = names.map((name) => (/^[\d.]+$|:/.test(name) ? `IP:${name}` : `DNS:${name}`))
      writeFileSync(at(`${id}.ext`), `subjectAltName=${alternatives.join()}\n`)
      openssl('req', '-new', ...newKey(`${id}.key`), '-out', at(`${id}.csr`), '-subj', '/CN=test')
      const signer = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-set_serial', id, '-days', String(days)]
      openssl(
        'x509',
        '-req',
        '-in',
        at(`${id}.csr`),
        ...signer,
        '-extfile',
        at(`${id}.ext`),
        '-out',
        at(`${id}.pem`),
      )
      return {
        key: readFileSync(at(`${id}.key`), 'utf8'),
        cert: readFileSync(at(`${id}.pem`), 'utf8'),
      }
    },
  }
}

/** A TLS server on loopback, as its port. */
export async function tlsListening(
  t: TestContext,
  identity: Identity,
  listener: RequestListener,
  more: ServerOptions = {},
): Promise<number> {
  const server = createServer({ key: identity.key, cert: identity.cert, ...more }, listener)
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** The entry of a port that speaks https on loopback, with a certificate of this authority. */
export function secureListener(
  t: TestContext,
  { issue }: Authority = authority(t),
  options: { readonly tls?: object; readonly maxConnections?: number } = {},
) {
  const { cert, key } = issue(['127.0.0.1', 'localhost'])
  const files = folder(t, { 'tls.crt': cert, 'tls.key': key })
  const tls = { cert: join(files, 'tls.crt'), key: join(files, 'tls.key'), ...options.tls }
  return { use: 'listen/http', with: { address: '127.0.0.1:0', ...options, tls } }
}
