import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Served } from './stage.js'

export interface FilesLeft {
  readonly who: string
  readonly first: number
  readonly last: number
  readonly held: boolean
}

/** Milliseconds until idle connections are closed. */
const IDLE_TIMEOUT = 90_000
/** Connections that a process keeps to its issuer. */
const KEPT = 2

/** Counts open files of a process, with sockets: after the last call there must be no more than before the first. */
export class OpenFiles {
  private readonly first: number

  constructor(private readonly served: Served) {
    this.first = this.now
  }

  async left(): Promise<FilesLeft> {
    const { served, first } = this
    const most = first + KEPT
    for (const end = Date.now() + IDLE_TIMEOUT; this.now > most && Date.now() < end; ) await pause(200)
    const last = this.now
    return { who: served.name, first, last, held: last <= most }
  }

  private get now(): number {
    return readdirSync(`/proc/${this.served.pid}/fd`).length
  }
}
