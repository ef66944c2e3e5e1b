import { createHook } from 'node:async_hooks'

/** The resources and listeners of this process by kind: timers, sockets, servers, signals. */
export class Resources {
  private readonly intervals = new Map<number, object>()
  private readonly before: readonly string[]

  constructor() {
    const { intervals } = this
    // No other API lists an unref'd interval. Intervals of Node itself, such as for connections, do not count.
    createHook({
      init(id, type, _trigger, resource: { readonly _repeat?: unknown }) {
        // Timeouts end by themselves.
        if (type === 'Timeout' && typeof resource._repeat === 'number' && !isOfNode()) {
          intervals.set(id, resource)
        }
      },
      destroy: (id) => void intervals.delete(id),
    }).enable()
    this.before = this.all()
  }

  leaked(): readonly string[] {
    const known = [...this.before]
    return this.all().filter((name) => {
      const at = known.indexOf(name)
      if (at >= 0) known.splice(at, 1)
      return at < 0
    })
  }

  private all(): readonly string[] {
    const listened = process
      .eventNames()
      .flatMap((name) =>
        Array.from({ length: process.listenerCount(name) }, () => `process.on('${String(name)}')`),
      )
    const active = process
      .getActiveResourcesInfo()
      .filter((name) => !/^(?:TTYWrap|PipeWrap|FSReqPromise|FSReqCallback|Immediate|TickObject)$/.test(name))
    const quiet = [...this.intervals.values()].filter(isUnreferenced).map(() => "an unref'd interval")
    return [...active, ...quiet, ...listened]
  }
}

/** Whether Node itself is setting a timer right now. */
function isOfNode(): boolean {
  const frames = (new Error('here').stack ?? '').split('\n')
  const setter = frames.findIndex((frame) => /\bsetInterval \(node:timers\b/.test(frame))
  return frames[setter + 1]?.includes('node:') ?? true
}

const isUnreferenced = (timer: object): boolean =>
  'hasRef' in timer && typeof timer.hasRef === 'function' && !timer.hasRef()
