import type { IncomingMessage } from 'node:http'
import { AddressRanges, normalizedAddress } from '../toolkit/address-ranges.js'
import { valuesOf } from './raw-headers.js'

/** The address of a connection that has none, as RFC 7239 (6) writes it. */
const UNKNOWN = 'unknown'

/** Finds the address of a client, on demand. */
export class ClientAddresses {
  private trusted: AddressRanges | undefined

  /** From now on the forwarding headers of connections from these ranges are believed. */
  trust(ranges: readonly string[]): void {
    this.trusted = ranges.length === 0 ? undefined : new AddressRanges(ranges)
  }

  /**
   * The peer of the connection. When the peer is a trusted proxy: the last address in its headers that is not itself a
   * trusted proxy. An entry that cannot be parsed ends the walk, and the last address believed counts.
   */
  of({ socket, rawHeaders }: IncomingMessage): string {
    const { trusted } = this
    const peer = socket.remoteAddress
    if (peer === undefined) return UNKNOWN
    const connected = normalizedAddress(peer) ?? peer
    if (trusted?.includes(connected) !== true) return connected
    const old = valuesOf(rawHeaders, 'x-forwarded-for')
    const standard = valuesOf(rawHeaders, 'forwarded')
    const byOld = lastUntrusted(connected, old.map(commaSeparated), trusted)
    if (standard.length === 0) return byOld
    const byStandard = lastUntrusted(connected, standard.map(forwardedNodes), trusted)
    // A proxy that sets one header may pass on the other as the client wrote it, and the gateway cannot know which it
    // sets.
    return old.length === 0 || byOld === byStandard ? byStandard : connected
  }
}

/** The nodes of one header line; undefined when it cannot be read. */
type Nodes = readonly string[] | undefined

// Real chains are shorter; a client could name trusted proxies by the thousand.
const MAX_HOPS = 32

function lastUntrusted(connected: string, lines: readonly Nodes[], trusted: AddressRanges): string {
  let believed = connected
  const nodes = lines.toReversed().flatMap((line) => line?.toReversed() ?? [''])
  for (const node of nodes.slice(0, MAX_HOPS)) {
    const address = addressOf(node)
    if (address === undefined) return believed
    believed = address
    if (!trusted.includes(address)) return believed
  }
  return believed
}

const commaSeparated = (line: string): Nodes => line.split(',').map((node) => node.trim())

const NODE =
  /^(?:\[([\da-f]*:[\da-f:.]*)\]|(\d+\.[\d.]+))(?::(?:\d{1,5}|_[\w.-]{1,64}))?$|^([\da-f]*:[\da-f:.]*)$/i

/** The address of a node, without its port (RFC 7239, 6); undefined when it is obfuscated, unknown or malformed. */
function addressOf(node: string): string | undefined {
  const [, inBrackets, v4, v6] = NODE.exec(node) ?? []
  const address = inBrackets ?? v4 ?? v6
  return address === undefined ? undefined : normalizedAddress(address)
}

// RFC 7239 (4), with white space around the separators, which some proxies write.
const PAIR =
  /[ \t]*([!#$%&'*+.^_`|~\dA-Za-z-]+)=(?:([!#$%&'*+.^_`|~\dA-Za-z-]+)|"((?:[^"\\]|\\.)*)")[ \t]*([;,]|$)/gy

/** The `for` of each element, empty where there is none. */
function forwardedNodes(line: string): Nodes {
  const nodes: string[] = []
  let node: string | undefined
  let separator: string | undefined
  let read = 0
  for (const [pair, name = '', token, quoted, end] of line.matchAll(PAIR)) {
    const isNode = name.toLowerCase() === 'for'
    if (isNode && node !== undefined) return undefined
    if (isNode) node = token ?? quoted?.replaceAll(/\\(.)/g, '$1')
    read += pair.length
    separator = end
    if (end === ';') continue
    nodes.push(node ?? '')
    node = undefined
  }
  return separator === '' && read === line.length ? nodes : undefined
}
