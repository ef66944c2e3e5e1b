import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer, type ServerOptions } from 'node:https'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { folder } from './folder.js'
import { opened } from './listening.js'

export interface Identity {
  readonly key: string
  readonly cert: string
}

/** A private certificate authority. */
export interface Authority {
  /** The file of its certificate. */
  readonly file: string
  readonly certificate: string
  /** Issues a certificate for these names and addresses; with negative days it has expired. */
  issue(names: readonly string[], days?: number): Identity
  /** An authority whose certificate this one signs. */
  intermediate(): Authority
}

const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe' })

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout']

export function authority(t: TestContext): Authority {
  const directory = folder(t)
  const files = ['-out', join(directory, 'ca.pem'), '-days', '2', '-subj', '/CN=test authority']
  openssl('req', '-x509', ...NEW_KEY, join(directory, 'ca.key'), ...files)
  return authorityIn(directory, t)
}

/** The authority whose key and certificate are in `ca.key` and `ca.pem` of this directory. */
function authorityIn(directory: string, t: TestContext): Authority {
  const at = (name: string) => join(directory, name)
  let issued = 0
  const signed = (subject: string, extension: string, days: number): Identity => {
    const id = String(++issued)
    writeFileSync(at(`${id}.ext`), `${extension}\n`)
    openssl('req', '-new', ...NEW_KEY, at(`${id}.key`), '-out', at(`${id}.csr`), '-subj', subject)
    const signer = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-set_serial', id, '-days', String(days)]
    const files = ['-in', at(`${id}.csr`), '-extfile', at(`${id}.ext`), '-out', at(`${id}.pem`)]
    openssl('x509', '-req', ...files, ...signer)
    return { key: readFileSync(at(`${id}.key`), 'utf8'), cert: readFileSync(at(`${id}.pem`), 'utf8') }
  }
  return {
    file: at('ca.pem'),
    certificate: readFileSync(at('ca.pem'), 'utf8'),
    issue(names, days = 2) {
      const alternatives = names.map((name) => (/^[\d.]+$|:/.test(name) ? `IP:${name}` : `DNS:${name}`))
      return signed('/CN=test', `subjectAltName=${alternatives.join()}`, days)
    },
    intermediate() {
      const { key, cert } = signed('/CN=test intermediate', 'basicConstraints=critical,CA:true', 2)
      return authorityIn(folder(t, { 'ca.key': key, 'ca.pem': cert }), t)
    },
  }
}

/** Starts a TLS server on loopback, and returns its port. */
export async function tlsListening(
  t: TestContext,
  identity: Identity,
  listener: RequestListener,
  more: ServerOptions = {},
): Promise<number> {
  const server = createServer({ key: identity.key, cert: identity.cert, ...more }, listener)
  return (await opened(t, server)).port
}

/** The entry of an https listener on loopback, with a certificate of this authority. */
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
