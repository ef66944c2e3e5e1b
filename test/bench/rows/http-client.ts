import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { pattern } from '../servers/pattern.js'

/** Sends requests to a port of loopback. */
export class HttpClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

  constructor(
    readonly port: number,
    private readonly token?: string,
  ) {}

  /** Resolves with the response; a status other than 200 is an error. With a size, sends the pattern of that size. */
  async request(path: string, size?: number): Promise<IncomingMessage> {
    const { port, agent, token } = this
    const headers = {
      accept: 'application/json, text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(size !== undefined && { 'content-length': size }),
    }
    const method = size === undefined ? 'GET' : 'POST'
    const asking = request({ host: '127.0.0.1', port, path, method, headers, agent })
    const answered: Promise<IncomingMessage[]> = once(asking, 'response')
    const sent = size === undefined ? asking.end() : pipeline(pattern(size), asking)
    const [[answer]] = await Promise.all([answered, sent])
    if (answer?.statusCode !== 200)
      throw new Error(`port ${port} answered ${path} with ${answer?.statusCode}`)
    return answer
  }

  close(): void {
    this.agent.destroy()
  }
}
