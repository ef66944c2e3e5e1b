import type { Stats } from 'node:fs'
import { resolve } from 'node:path'

class Pipes {
  private readonly read = new Set<string>()

  /**
   * Refuses to read a pipe, such as `<(...)` of a shell, a second time: to open it again is to wait, perhaps for
   * ever, for its writer, in a thread that the process cannot end without.
   */
  refuseSecondRead(file: string, stats: Pick<Stats, 'isFIFO'>): void {
    if (!stats.isFIFO()) return
    const path = resolve(file)
    if (this.read.has(path))
      throw new Error('it is a pipe, and cannot be read again: use a file, or restart the gateway')
    this.read.add(path)
  }
}

export const pipes = new Pipes()
