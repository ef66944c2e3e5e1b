import type { ServerResponse } from 'node:http'

const INDEX = Symbol('index')

type Listed = ServerResponse & { [INDEX]?: number | undefined }

/**
 * Responses that come and go with every request. No `Set`: V8 replaces the table of one that changes all the time, and each
 * table refers to the one that replaced it. Once one of them is old, all that was in the later ones stays until the next
 * full collection, and a scavenge takes 10 ms in place of 2.
 */
export class ResponseList {
  private readonly responses: Listed[] = []

  add(response: Listed): void {
    response[INDEX] = this.responses.length
    this.responses.push(response)
  }

  delete(response: Listed): void {
    const { [INDEX]: index } = response
    if (index === undefined) return
    const last = this.responses.pop()
    if (last !== undefined && last !== response) {
      this.responses[index] = last
      last[INDEX] = index
    }
    response[INDEX] = undefined
  }

  get size(): number {
    return this.responses.length
  }

  /** A copy: they may go while somebody looks at them. */
  all(): readonly ServerResponse[] {
    return [...this.responses]
  }
}
