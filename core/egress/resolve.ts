import { lookup as systemLookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { isLocalAddress, isPublicAddress } from '../toolkit/address.js'
import { errorWithCode } from './failure.js'

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** Resolves a name to addresses. */
export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>

export const systemResolve: Resolve = (hostname) => systemLookup(hostname, { all: true })

/**
 * The lookup of a socket that may reach only public addresses. It runs for each connection, and the socket connects
 * to the addresses that it returns, so DNS rebinding has no effect.
 */
export function publicLookup(resolve: Resolve): LookupFunction {
  return lookupBy(async (hostname) => {
    const allowed = (await resolve(hostname)).filter(({ address }) => isPublicAddress(address))
    if (allowed.length === 0) throw errorWithCode('EGRESS_PRIVATE_ADDRESS')
    return allowed
  })
}

/**
 * The lookup of a socket that may reach only this machine and private networks; `refusal` makes the error for all
 * other names.
 */
export function localNetworkLookup(refusal: () => Error, resolve: Resolve = systemResolve): LookupFunction {
  return lookupBy(async (hostname) => {
    const allowed = (await resolve(hostname)).filter(({ address }) => isLocalAddress(address))
    if (allowed.length === 0) throw refusal()
    return allowed
  })
}

/** The lookup of a socket that may reach every address that `resolve` returns. */
export function lookupBy(resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const wanted = found.filter(({ family }) => !options.family || family === options.family)
        const [first] = wanted
        if (first === undefined) callback(errorWithCode('ENOTFOUND'), [])
        else if (options.all) callback(null, [...wanted])
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    )
  }
}
