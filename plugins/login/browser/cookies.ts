// Browsers store at most 4,096 bytes for a name with its value.
const CHUNK = 3_800
// Node accepts 32 KiB of headers, so a longer value cannot have come in a request.
const LONGEST_HEADER = 64 * 1024

/** A value that may be longer than one cookie: it is split over several, up to a limit. */
export class ChunkedCookie {
  private readonly names: readonly string[]
  private readonly attributes: string

  /**
   * With `secure` the name gets the prefix `__Host-`: no other host of the same domain can set it (RFC 6265bis, 4.1.3).
   * Not every browser stores such a cookie from plain http on loopback.
   */
  constructor(name: string, secure: boolean, chunks: number) {
    const full = secure ? `__Host-${name}` : name
    this.names = Array.from({ length: chunks }, (_, index) => (index === 0 ? full : `${full}.${index}`))
    this.attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  }

  read(header: string | undefined): string | undefined {
    if (header === undefined || header.length > LONGEST_HEADER) return undefined
    const found = new Map<string, string>()
    for (const pair of header.split(';')) {
      const at = pair.indexOf('=')
      const name = pair.slice(0, Math.max(at, 0)).trim()
      if (this.names.includes(name) && !found.has(name)) found.set(name, pair.slice(at + 1).trim())
    }
    let text = ''
    for (const name of this.names) {
      const chunk = found.get(name)
      if (chunk === undefined) break
      text += chunk
    }
    return text === '' ? undefined : text
  }

  /**
   * The values of `Set-Cookie`; undefined when the text is too long. Without `maxAge` the cookie lasts for the
   * browser session.
   */
  write(text: string, maxAge?: number): readonly string[] | undefined {
    if (text.length > CHUNK * this.names.length) return undefined
    const lasts = maxAge === undefined ? '' : `; Max-Age=${maxAge}`
    return this.names.map((name, index) => {
      const chunk = text.slice(index * CHUNK, (index + 1) * CHUNK)
      // The remaining cookies of a longer earlier value would make this one unreadable.
      return chunk === '' ? this.removal(name) : `${name}=${chunk}; ${this.attributes}${lasts}`
    })
  }

  remove(): readonly string[] {
    return this.names.map((name) => this.removal(name))
  }

  private removal(name: string): string {
    return `${name}=; ${this.attributes}; Max-Age=0`
  }
}
