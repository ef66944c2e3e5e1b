import type { Stats } from 'node:fs'
import { resolve } from 'node:path'

class Pipes {
  private readonly read = new Set<string>()

  /**
   * A pipe, such as `<(...)` of a shell, is read once: to open it again is to wait, perhaps for ever, for who writes to it, in
   * a thread that the process cannot end without.
   */
  refuseAgain(file: string, stats: Pick<Stats, 'isFIFO'>): void {
    if (!stats.isFIFO()) return
    const path = resolve(file)
    if (this.read.has(path))
      throw new Error('it is a pipe, and cannot be read again: use a file, or start the gateway again')
    this.read.add(path)
  }
}

export const pipes = new Pipes()
