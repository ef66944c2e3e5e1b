import { lookup as systemLookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { isPublicAddress } from './address.js'
import { unreached } from './failure.js'

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** Turns a name into addresses. */
export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>

export const systemResolve: Resolve = (hostname) => systemLookup(hostname, { all: true })

/**
 * The lookup of a socket that may only reach public addresses. It runs for each connection, and the socket connects
 * to what it returns, so a name that answers differently the second time gains nothing.
 */
export function publicLookup(resolve: Resolve): LookupFunction {
  return guardedLookup(async (hostname) => {
    const allowed = (await resolve(hostname)).filter(({ address }) => isPublicAddress(address))
    if (allowed.length === 0) throw unreached('EGRESS_PRIVATE_ADDRESS')
    return allowed
  })
}

/** The lookup of a socket that may reach any address. */
export function guardedLookup(resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const wanted = found.filter(({ family }) => !options.family || family === options.family)
        const [first] = wanted
        if (first === undefined) callback(unreached('ENOTFOUND'), [])
        else if (options.all) callback(null, [...wanted])
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    )
  }
}
