/** How often a header was sent, by `rawHeaders`: in `headers` Node keeps only the first of some repeated headers. */
export function timesSent(rawHeaders: readonly string[], header: string): number {
  let times = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === header.length && name.toLowerCase() === header) times++
  }
  return times
}

/** The values of a header, one for each of its lines. */
export function valuesOf(rawHeaders: readonly string[], header: string): string[] {
  const values: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === header.length && name.toLowerCase() === header)
      values.push(rawHeaders[index + 1] ?? '')
  }
  return values
}
