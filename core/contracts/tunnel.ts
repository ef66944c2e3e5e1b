import { one } from '../capability.js'

/** A way in that stands. */
export interface OpenTunnel {
  /** How callers outside reach the main port, as the other side told it: whoever uses it judges it first. */
  readonly url: string
  /** Settles when the way is gone, with the reason for a person; it never rejects. */
  readonly lost: Promise<string>
  /** Takes the way down, and settles when nothing of it is left on this machine. */
  close(): Promise<void>
}

/**
 * Opens a way from outside to the main port. It opens once and tells when that ends; opening again is for whoever
 * asked. What it starts on this machine ends with this process, in whatever way the process ends.
 */
export interface Tunnel {
  /** The tunnel in logs and on `/readiness`. */
  readonly name: string
  /** Everything it was set up with. A tunnel stays open over an exchange of lists while its key is the same. */
  readonly key: string
  /**
   * Leads callers to `local`. What it throws says what to do about it: a `ConfigError` where only another
   * configuration helps. An abort leaves nothing behind.
   */
  open(local: URL, signal: AbortSignal): Promise<OpenTunnel>
}

export const Tunnel = one<Tunnel>('tunnel')
