import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

const HEAD_END = Buffer.from('\r\n\r\n')

/** The status and body that every answer must have. */
export interface Expected {
  readonly status: number
  readonly body: Buffer
}

/** One kept-alive connection that sends requests and compares every byte of the answers. */
export class Connection {
  private readonly socket: Socket
  private held: Buffer | undefined
  /** Bytes of the answer's body that are still to come; -1 before its head. */
  private left = -1
  private sentAt = 0
  private done: ((error: Error | undefined, sentAt: number) => void) | undefined

  constructor(
    port: number,
    private readonly expected: Expected,
    tls: boolean,
  ) {
    const to = { host: '127.0.0.1', port }
    this.socket = tls ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to)
    this.socket.setNoDelay(true)
    this.socket.on('data', (chunk) => this.read(chunk))
    this.socket.on('error', (error) => this.finish(error))
    this.socket.on('close', () => this.finish(new Error('the connection was closed')))
  }

  get idle(): boolean {
    return this.done === undefined
  }

  /** `done` gets `sentAt` back, the time from which the answer is measured. */
  send(request: Buffer, sentAt: number, done: (error: Error | undefined, sentAt: number) => void): void {
    this.sentAt = sentAt
    this.done = done
    this.left = -1
    this.socket.write(request)
  }

  close(): void {
    this.done = undefined
    this.socket.destroy()
  }

  private finish(error?: Error): void {
    const { done } = this
    this.done = undefined
    done?.(error, this.sentAt)
  }

  private read(chunk: Buffer): void {
    let bytes = this.held === undefined ? chunk : Buffer.concat([this.held, chunk])
    this.held = undefined
    if (this.left === -1) {
      const end = bytes.indexOf(HEAD_END)
      if (end === -1) {
        this.held = bytes
        return
      }
      const wrong = this.readHead(bytes.toString('latin1', 0, end))
      if (wrong !== undefined) {
        this.finish(new Error(wrong))
        return
      }
      bytes = bytes.subarray(end + HEAD_END.length)
    }
    const { body } = this.expected
    const at = body.length - this.left
    if (bytes.length > this.left || body.compare(bytes, 0, bytes.length, at, at + bytes.length) !== 0) {
      this.finish(new Error('an answer has other bytes than it should'))
      return
    }
    this.left -= bytes.length
    if (this.left === 0) this.finish()
  }

  private readHead(head: string): string | undefined {
    const { status, body } = this.expected
    if (Number(head.slice(9, 12)) !== status) return `expected ${status}, got ${head.split('\r\n')[0]}`
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? (status === 304 ? 0 : Number.NaN))
    if (length !== body.length) return `expected a body of ${body.length} bytes, got ${length}`
    this.left = length
    return undefined
  }
}
