/** An order to the load process. */
export interface Order {
  readonly port: number
  readonly connections: number
  /** Connect over TLS. */
  readonly tls?: boolean
  /** The load ends after so many seconds, or after so many calls. */
  readonly seconds?: number
  readonly calls?: number
  /** Requests a second; without it, as many as the server answers. */
  readonly rate?: number
  /** Request line and header lines, without `Host` and the empty line that ends them. */
  readonly head: string
  readonly body: string
  /** The bearer token of every request. */
  readonly token?: string
  /** A file with a token on each line: each request uses the next one, and the load ends with the file. */
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
