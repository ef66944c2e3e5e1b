import { hash } from 'node:crypto'
import type { ServerStatus, ServerVersion } from 'sallyport'
import type { Arena, Slice } from './arena.js'

/** What the registry says of a version. Dates are texts, so that a given one is served as it came. */
export interface Metadata {
  readonly status: ServerStatus
  readonly statusMessage?: string | undefined
  readonly statusChangedAt?: string | undefined
  readonly publishedAt: string
  readonly updatedAt: string
}

interface Facts {
  readonly name: string
  readonly version: string
  readonly status: ServerStatus
  readonly mark: string
  readonly documentSize: number
  readonly publishedAt: number
  readonly updatedAt: number
}

const HEAD = Buffer.from('{"server":')
const META = Buffer.from(',"_meta":{')
const OFFICIAL_KEY = '"io.modelcontextprotocol.registry/official":'
const LATEST = Buffer.from('true}}}')
const NOT_LATEST = Buffer.from('false}}}')

/**
 * A version in memory: the answer for it is made once, when it comes in. There may be a hundred thousand of these, so
 * each is one flat object: what the garbage collector has to walk through, callers wait for.
 */
export class HeldVersion implements ServerVersion {
  readonly name: string
  readonly version: string
  readonly status: ServerStatus
  /** Stands for the bytes that the source gave. */
  readonly mark: string
  readonly publishedAt: number
  readonly updatedAt: number
  private readonly documentSize: number
  private readonly chunk: Buffer
  private readonly start: number
  private readonly end: number
  private ownTag: string | undefined

  private constructor(
    facts: Facts,
    { chunk, start, end }: Slice,
    readonly isLatest: boolean,
  ) {
    this.name = facts.name
    this.version = facts.version
    this.status = facts.status
    this.mark = facts.mark
    this.publishedAt = facts.publishedAt
    this.updatedAt = facts.updatedAt
    this.documentSize = facts.documentSize
    this.chunk = chunk
    this.start = start
    this.end = end
  }

  /**
   * Builds the answer for a version. Whether it is the latest is written last of all, because that changes with
   * its neighbours while everything before stays.
   */
  static make(
    id: Pick<Facts, 'name' | 'version' | 'mark'>,
    document: Uint8Array,
    otherMetadata: readonly Uint8Array[],
    { publishedAt, updatedAt, status, statusMessage, statusChangedAt }: Metadata,
    arena: Arena,
  ): HeldVersion {
    const told = { status, statusMessage, statusChangedAt, publishedAt, updatedAt }
    const own = Buffer.from(`${OFFICIAL_KEY}${JSON.stringify(told).slice(0, -1)},"isLatest":`)
    const facts = {
      ...id,
      status,
      documentSize: document.length,
      publishedAt: Date.parse(publishedAt),
      updatedAt: Date.parse(updatedAt),
    }
    const slice = arena.put([HEAD, document, META, ...otherMetadata, own, NOT_LATEST])
    return new HeldVersion(facts, slice, false)
  }

  withLatest(isLatest: boolean, arena: Arena): HeldVersion {
    if (this.isLatest === isLatest) return this
    const { name, version, status, mark, publishedAt, updatedAt, documentSize } = this
    const facts = { name, version, status, mark, publishedAt, updatedAt, documentSize }
    return new HeldVersion(facts, arena.put([this.common(), isLatest ? LATEST : NOT_LATEST]), isLatest)
  }

  get json(): Buffer {
    return this.chunk.subarray(this.start, this.end)
  }

  get tag(): string {
    this.ownTag ??= hash('sha256', this.json, 'base64url').slice(0, 22)
    return this.ownTag
  }

  /** Whether the publisher's document is the same, byte for byte. */
  hasDocument(document: Uint8Array): boolean {
    const from = this.start + HEAD.length
    return this.chunk.subarray(from, from + this.documentSize).equals(document)
  }

  /** Whether two versions differ in nothing that the source decides. */
  isSame(other: HeldVersion): boolean {
    return this.common().equals(other.common())
  }

  private common(): Buffer {
    return this.chunk.subarray(this.start, this.end - (this.isLatest ? LATEST.length : NOT_LATEST.length))
  }
}
