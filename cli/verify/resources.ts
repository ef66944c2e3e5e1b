import { createHook } from 'node:async_hooks'

const intervals = new Map<number, object>()

// One that is unref'd is told nowhere else. Node has its own, as for connections: what counts is who set it.
createHook({
  init(id, type, _trigger, resource: { readonly _repeat?: unknown }) {
    // One that runs out by itself leaves nothing.
    if (type === 'Timeout' && typeof resource._repeat === 'number' && !isOfNode()) intervals.set(id, resource)
  },
  destroy: (id) => void intervals.delete(id),
}).enable()

/** Whether Node itself is setting a timer right now. */
function isOfNode(): boolean {
  const frames = (new Error('here').stack ?? '').split('\n').slice(3)
  const setter = frames.findIndex((frame) => /\bsetInterval \(node:timers\b/.test(frame))
  return frames[setter + 1]?.includes('node:') ?? true
}

const unreferenced = (): readonly string[] =>
  [...intervals.values()]
    .filter((interval) => 'hasRef' in interval && typeof interval.hasRef === 'function' && !interval.hasRef())
    .map(() => "an unref'd interval")

/** What keeps this process alive or listens to it, by kind: timers, sockets, servers, signals. */
export function resources(): readonly string[] {
  const listened = process
    .eventNames()
    .flatMap((name) =>
      Array.from({ length: process.listenerCount(name) }, () => `process.on('${String(name)}')`),
    )
  const active = process
    .getActiveResourcesInfo()
    .filter((name) => !/^(?:TTYWrap|PipeWrap|FSReqPromise|FSReqCallback|Immediate|TickObject)$/.test(name))
  return [...active, ...unreferenced(), ...listened]
}

/** What is there now and was not before. */
export function newIn(before: readonly string[]): readonly string[] {
  const known = [...before]
  return resources().filter((name) => {
    const at = known.indexOf(name)
    if (at >= 0) known.splice(at, 1)
    return at < 0
  })
}
