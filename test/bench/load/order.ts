/** What the load is told to do. */
export interface Order {
  readonly port: number
  readonly connections: number
  /** The connections are of TLS. */
  readonly tls?: boolean
  /** It ends after so long, or after so many calls. */
  readonly seconds?: number
  readonly calls?: number
  /** Requests a second; as many as are answered unless given. */
  readonly rate?: number
  /** Request line and header lines, without `Host` and the empty line that ends them. */
  readonly head: string
  readonly body: string
  /** The bearer of every request. */
  readonly token?: string
  /** A file with a token on each line: each request has one of its own instead, and the end of the file is the end. */
  readonly tokens?: string
  readonly status: number
  /** The body that every answer must have, in base64. */
  readonly answer: string
}

export interface Outcome {
  readonly requests: number
  readonly seconds: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
}
