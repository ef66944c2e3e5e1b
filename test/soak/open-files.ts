import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Served } from './stage.js'

export interface FilesLeft {
  readonly who: string
  readonly first: number
  readonly last: number
  readonly held: boolean
}

/** Milliseconds until connections that nobody uses are closed. */
const PATIENCE = 90_000
/** Connections that a process keeps to its issuer. */
const KEPT = 2

/** Open files of a process, sockets among them: after the last call they must be as many as before the first. */
export class OpenFiles {
  private readonly first: number

  constructor(private readonly served: Served) {
    this.first = this.now
  }

  async left(): Promise<FilesLeft> {
    const { served, first } = this
    const most = first + KEPT
    for (const end = Date.now() + PATIENCE; this.now > most && Date.now() < end; ) await pause(200)
    const last = this.now
    return { who: served.name, first, last, held: last <= most }
  }

  private get now(): number {
    return readdirSync(`/proc/${this.served.pid}/fd`).length
  }
}
