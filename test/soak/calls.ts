import { Pool } from 'undici'
import type { Stage } from './stage.js'
import type { Tally } from './tally.js'

/** Milliseconds for a response. */
const TIMEOUT = 10_000
const MOST_AT_ONCE = 256

/** Calls the proxy and the registry at a steady rate, and checks each response. */
export class Calls {
  private readonly pools: Readonly<Record<'proxy' | 'registry', Pool>>
  private timer: NodeJS.Timeout | undefined
  private tokens: readonly string[] = []
  private count = 0
  private inFlight = 0

  constructor(
    private readonly stage: Stage,
    private readonly tally: Tally,
  ) {
    const pool = (port: number): Pool =>
      new Pool(`http://127.0.0.1:${port}`, {
        connections: 32,
        headersTimeout: TIMEOUT,
        bodyTimeout: TIMEOUT,
      })
    this.pools = { proxy: pool(stage.proxy.port), registry: pool(stage.registry.port) }
  }

  get token(): string {
    return this.tokens[this.count % this.tokens.length] ?? ''
  }

  /** Makes new tokens of several callers, signed with the newest key. */
  async renewTokens(): Promise<void> {
    const made = Array.from({ length: 8 }, (_, index) => this.stage.issuer.jwt({ sub: `caller ${index}` }))
    this.tokens = await Promise.all(made)
  }

  /** Measures how many calls a second both answer at full load. */
  async capacity(seconds: number): Promise<number> {
    const end = performance.now() + seconds * 1000
    let calls = 0
    const caller = async (): Promise<void> => {
      while (performance.now() < end) {
        await this.one()
        calls++
      }
    }
    await Promise.all(Array.from({ length: 16 }, caller))
    return calls / seconds
  }

  start(rate: number): void {
    const began = performance.now()
    let sent = 0
    this.timer = setInterval(() => {
      const due = ((performance.now() - began) / 1000) * rate
      for (; sent < due; sent++) {
        // A call that cannot be sent now is dropped: sending the missed calls at once would exceed the rate.
        if (this.inFlight < MOST_AT_ONCE) void this.one()
      }
    }, 5)
  }

  async stop(): Promise<void> {
    clearInterval(this.timer)
    await Promise.all(Object.values(this.pools).map((pool) => pool.close()))
  }

  private async one(): Promise<void> {
    this.inFlight++
    this.count++
    try {
      if (this.count % 3 === 0) await this.ofRegistry(this.count)
      else await this.ofProxy(this.count)
    } finally {
      this.inFlight--
    }
  }

  private async ofProxy(count: number): Promise<void> {
    const long = count % 50 === 0
    const body = JSON.stringify({ jsonrpc: '2.0', id: count, method: 'tools/call', params: { name: 'soak' } })
    const began = Date.now()
    const request = {
      method: 'POST' as const,
      path: long ? '/mcp?size=65536' : '/mcp',
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      body,
    }
    const answer = await this.pools.proxy.request(request).catch((error: Error) => error)
    if (answer instanceof Error) return this.tally.failed('proxy', began, answer.message)
    const text = await answer.body.text().catch((error: Error) => error)
    const { statusCode: status } = answer
    if (text instanceof Error)
      return this.tally.failed('proxy', began, `cut off: ${text.message}`, ['target'])
    if (status === 502) return this.tally.failed('proxy', began, `502 ${text}`, ['target'])
    if (status !== 200) return this.tally.failed('proxy', began, `${status} ${text}`)
    if (text !== (long ? 'x'.repeat(65_536) : body)) return this.tally.failed('proxy', began, 'other bytes')
    this.tally.right('proxy')
  }

  private async ofRegistry(count: number): Promise<void> {
    const base = '/registry/default/v0.1/servers'
    const one = `${base}/${encodeURIComponent(`com.example/server-${count % 2_000}`)}/versions/latest`
    const path = [base, `${base}?search=server-${count % 300}`, one][count % 5] ?? one
    const began = Date.now()
    const headers = { authorization: `Bearer ${this.token}`, 'accept-encoding': 'gzip' }
    const answer = await this.pools.registry
      .request({ method: 'GET', path, headers })
      .catch((error: Error) => error)
    if (answer instanceof Error) return this.tally.failed('registry', began, answer.message)
    const bytes = await answer.body.arrayBuffer().catch((error: Error) => error)
    if (bytes instanceof Error) return this.tally.failed('registry', began, `cut off: ${bytes.message}`)
    if (answer.statusCode !== 200) {
      return this.tally.failed('registry', began, `${answer.statusCode} to ${path}`)
    }
    if (bytes.byteLength < 100)
      return this.tally.failed('registry', began, `${bytes.byteLength} bytes of ${path}`)
    this.tally.right('registry')
  }
}
