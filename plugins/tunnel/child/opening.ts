import type { OpenTunnel } from 'sallyport'
import { startProcessGroup } from './process-group.js'

export interface OpenOptions {
  readonly argv: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly signal: AbortSignal
  /** Gets every line that the program prints, and returns the public URL when a line shows that the tunnel is open. */
  readonly read: (line: string) => string | undefined
  /** The error to throw when the program ends before that. */
  readonly failed: (how: string) => Error
}

/** Starts a program, and waits until its output shows that the tunnel is open. */
export async function openTunnel({ argv, env, signal, read, failed }: OpenOptions): Promise<OpenTunnel> {
  signal.throwIfAborted()
  let onLine: (line: string) => void = () => {}
  const child = startProcessGroup(argv, env, (line) => onLine(line))
  try {
    const url = await new Promise<string>((resolve, reject) => {
      onLine = (line) => {
        try {
          const found = read(line)
          if (found !== undefined) resolve(found)
        } catch (error) {
          // Later lines do not matter.
          onLine = () => {}
          reject(error)
        }
      }
      void child.ended.then((how) => reject(failed(how)))
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    return { url, lost: child.ended, close: () => child.end() }
  } catch (error) {
    await child.end()
    throw error
  }
}
