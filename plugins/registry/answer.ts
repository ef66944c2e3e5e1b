import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

const compressed = promisify(gzip)

const VARY = 'Authorization, Accept-Encoding'

// Below this a compressed answer fits into the same packet and only costs time.
const WORTH_COMPRESSING = 1_000
const ACCEPTS_GZIP = /(?:^|[\s,])gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i

/** A whole answer, made once and sent often. */
export class Answer {
  readonly etag: string
  #gzip: Buffer | Promise<Buffer> | undefined

  /** `tag` stands for the body: another body has another. */
  constructor(
    readonly body: Buffer,
    tag: string,
  ) {
    // Weak, because it names the compressed and the plain form alike (RFC 9110, 8.8.1).
    this.etag = `W/"${tag}"`
  }

  /** About what it takes in memory. */
  get size(): number {
    return this.body.length * 1.5 + 500
  }

  send(
    request: FastifyRequest,
    reply: FastifyReply,
    cacheControl: string,
  ): FastifyReply | Promise<FastifyReply> {
    const { headers } = request
    reply.header('etag', this.etag)
    reply.header('cache-control', cacheControl)
    const vary = reply.getHeader('vary')
    reply.header('vary', vary === undefined ? VARY : `${String(vary)}, ${VARY}`)
    const match = headers['if-none-match']
    if (match !== undefined && this.matches(match)) return reply.code(304).send()

    reply.header('content-type', 'application/json; charset=utf-8')
    const encodings = headers['accept-encoding']
    const plain = this.body.length < WORTH_COMPRESSING || encodings === undefined
    if (plain || !(encodings === 'gzip' || ACCEPTS_GZIP.test(encodings))) return reply.send(this.body)
    reply.header('content-encoding', 'gzip')
    return this.sendCompressed(reply)
  }

  private sendCompressed(reply: FastifyReply): FastifyReply | Promise<FastifyReply> {
    if (Buffer.isBuffer(this.#gzip)) return reply.send(this.#gzip)
    this.#gzip ??= compressed(this.body).then((bytes) => {
      this.#gzip = bytes
      return bytes
    })
    return this.#gzip.then((bytes) => reply.send(bytes))
  }

  private matches(header: string): boolean {
    if (header === this.etag || header === '*') return true
    const strong = this.etag.slice(2)
    return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === strong)
  }
}

/** Answers by the URL that asked for them, the least used forgotten first. It lives as long as its snapshot. */
export class AnswerCache {
  readonly #answers = new Map<string, Answer>()
  #size = 0

  constructor(private readonly maxBytes: number) {}

  get(url: string): Answer | undefined {
    const answer = this.#answers.get(url)
    if (answer === undefined) return undefined
    this.#answers.delete(url)
    this.#answers.set(url, answer)
    return answer
  }

  add(url: string, answer: Answer): void {
    const before = this.#answers.get(url)
    if (before !== undefined) this.forget(url, before)
    this.#answers.set(url, answer)
    this.#size += costOf(url, answer)
    for (const [oldest, old] of this.#answers) {
      if (this.#size <= this.maxBytes) break
      this.forget(oldest, old)
    }
  }

  private forget(url: string, answer: Answer): void {
    this.#answers.delete(url)
    this.#size -= costOf(url, answer)
  }
}

const costOf = (url: string, { size }: Answer): number => size + 2 * url.length
