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
  return [...active, ...listened]
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
