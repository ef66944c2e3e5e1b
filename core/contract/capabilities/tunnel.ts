import { one } from '../capability.js'

/** An open tunnel. */
export interface OpenTunnel {
  /** The public URL of the main port, as the tunnel's service reported it: check it before use. */
  readonly url: string
  /** Resolves when the tunnel is lost, with the reason; it never rejects. */
  readonly lost: Promise<string>
  /** Closes the tunnel, and resolves when no process of it is left on this machine. */
  close(): Promise<void>
}

/**
 * Opens a tunnel from outside to the main port, once; its user opens it again when it is lost. Programs that it starts
 * end with this process, however that ends.
 */
export interface Tunnel {
  /** The tunnel in logs and on `/readiness`. */
  readonly name: string
  /** A text made of all its options. A tunnel stays open over a reload while its key is the same. */
  readonly key: string
  /**
   * Forwards callers to `local`. Its errors say what to do: a `ConfigError` where only another configuration helps.
   * After an abort it leaves no process and no connection.
   */
  open(local: URL, signal: AbortSignal): Promise<OpenTunnel>
}

export const Tunnel = one<Tunnel>('tunnel')
