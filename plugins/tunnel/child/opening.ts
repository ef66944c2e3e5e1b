import type { OpenTunnel } from 'sallyport'
import { leashed } from './leash.js'

export interface Opening {
  readonly argv: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly signal: AbortSignal
  /** Takes every line that the program prints, and answers the public URL when one says that the way is open. */
  readonly read: (line: string) => string | undefined
  /** What to throw when the program ends before that. */
  readonly failed: (how: string) => Error
}

/** Starts a program, and waits until it says that the way is open. */
export async function opened({ argv, env, signal, read, failed }: Opening): Promise<OpenTunnel> {
  signal.throwIfAborted()
  let take: (line: string) => void = () => {}
  const child = leashed(argv, env, (line) => take(line))
  try {
    const url = await new Promise<string>((resolve, reject) => {
      take = (line) => {
        try {
          const found = read(line)
          if (found !== undefined) resolve(found)
        } catch (error) {
          // What is printed until the program has ended is nobody's any more.
          take = () => {}
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
