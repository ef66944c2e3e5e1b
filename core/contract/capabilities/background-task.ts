import { many } from '../capability.js'

/**
 * Work besides handling requests, such as MCP over standard input. When all background tasks of a list are over the
 * gateway stops, as on a signal; a task that fails stops it too.
 */
export interface BackgroundTask {
  /** Settles when nothing is left to do. */
  readonly over: Promise<void>
  /** The gateway is stopping: start nothing new, and finish soon. It may be called twice. */
  end(): void
}

export const BackgroundTask = many<BackgroundTask>('background task')
