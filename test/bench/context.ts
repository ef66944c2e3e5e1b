import { createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Issuer } from '#kit/issuer.js'
import { Load } from './load/load.js'
import { callRows } from './rows/calls.js'

export type Algorithm = 'RS256' | 'ES256'

/** The load, the issuers and the folder of a whole run. */
export interface BenchContext {
  /** A folder of this run alone. */
  readonly home: string
  readonly load: Load
  readonly issuers: Readonly<Record<Algorithm, RunningIssuer>>
  readonly effort: Effort
  close(): void
}

interface RunningIssuer {
  readonly issuer: Issuer
  /** The public key, in PEM. */
  readonly keyFile: string
}

/** How much each contestant has to do. */
export interface Effort {
  readonly rounds: number
  /** Seconds of one measurement. */
  readonly seconds: number
  /**
   * Calls before the first round that counts: a number and not a time, since a slow machine would measure cold code.
   * Also the number of new tokens before that round, in rows where each call has one.
   */
  readonly warmUp: number
  /** Rows that are measured at half load too. */
  readonly halfLoadOf: readonly string[]
  /** New tokens for each measurement that needs them. */
  readonly newTokens: number
  /** How many starts of a program are timed. */
  readonly starts: number
  /** Rounds of the stdio bridges, and calls in each. */
  readonly bridges: readonly [rounds: number, calls: number]
  /** How many event streams have their first event timed. */
  readonly firstEvents: number
}

export const FULL: Effort = {
  rounds: 7,
  seconds: 1.5,
  warmUp: 20_000,
  halfLoadOf: callRows.filter(({ newTokens }) => newTokens !== true).map(({ key }) => key),
  newTokens: 8_000,
  starts: 15,
  bridges: [9, 500],
  firstEvents: 300,
}
export const QUICK: Effort = {
  rounds: 3,
  seconds: 0.2,
  warmUp: 8_000,
  halfLoadOf: ['rs256'],
  newTokens: 500,
  starts: 3,
  bridges: [1, 30],
  firstEvents: 40,
}

export async function createContext(effort: Effort): Promise<BenchContext> {
  const home = mkdtempSync(join(tmpdir(), 'sallyport-bench-'))
  process.once('exit', () => rmSync(home, { recursive: true, force: true }))
  const [rsa, ec] = [await startIssuer('RS256', home), await startIssuer('ES256', home)]
  const load = await Load.start()
  const close = (): void => {
    load.stop()
    rsa.close()
    ec.close()
  }
  return { home, load, effort, issuers: { RS256: rsa, ES256: ec }, close }
}

async function startIssuer(algorithm: Algorithm, home: string): Promise<RunningIssuer & { close(): void }> {
  const issuer = new Issuer('', algorithm)
  const server = createServer(issuer.listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  issuer.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await issuer.rotate('bench')
  issuer.faults.set('/token', (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(EXCHANGED),
  )
  const keyFile = join(home, `${algorithm}.pem`)
  const [key = {}] = issuer.keys
  writeFileSync(keyFile, createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' }))
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  return { issuer, keyFile, close }
}

const EXCHANGED = JSON.stringify({
  access_token: 'bench',
  issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  token_type: 'Bearer',
  expires_in: 3600,
})

/** A token that is valid for the whole run. */
export function lastingToken(issuer: Issuer, id = 'the only one'): Promise<string> {
  return issuer.jwt({ exp: Math.floor(Date.now() / 1000) + 3600, jti: id })
}

/** A file of new tokens for the warm-up, and one for every round. */
export async function newTokenFiles(context: BenchContext, algorithm: Algorithm): Promise<string[]> {
  const { rounds, newTokens, warmUp } = context.effort
  const files: string[] = []
  for (let round = 0; round <= rounds; round++) {
    const file = join(context.home, `${algorithm}-${round}.tokens`)
    const made = Array.from({ length: round === 0 ? warmUp : newTokens }, (_, index) =>
      lastingToken(context.issuers[algorithm].issuer, `${round} ${index}`),
    )
    writeFileSync(file, (await Promise.all(made)).join('\n'))
    files.push(file)
  }
  return files
}
