/** How often a header was sent, by `rawHeaders`. Of some, Node keeps the first and says nothing of the others. */
export function timesSent(rawHeaders: readonly string[], header: string): number {
  let times = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === header.length && name.toLowerCase() === header) times++
  }
  return times
}
