const perUnit: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1000,
  mb: 1000 ** 2,
  gb: 1000 ** 3,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
}

/** `16MiB`, `1gb` or `1024` in bytes: a whole number and a unit in any case, `kB` in thousands and `KiB` in 1024s. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+)([kmg]?i?b)?$/i.exec(text)
  if (match === null) return undefined
  const unit = perUnit[(match[2] ?? 'b').toLowerCase()]
  if (unit === undefined) return undefined
  const bytes = Number(match[1]) * unit
  return Number.isSafeInteger(bytes) ? bytes : undefined
}
