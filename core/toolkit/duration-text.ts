const perUnit: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
}
const written = /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?$/

/** `2m30s` in milliseconds: whole numbers, units from large to small, each once; a bare number only when it is 0. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  const match = written.exec(text)
  if (match === null || text === '') return undefined
  const total = ['h', 'm', 's', 'ms'].reduce(
    (sum, unit, index) => sum + Number(match[index + 1] ?? 0) * (perUnit[unit] ?? 0),
    0,
  )
  return Number.isSafeInteger(total) ? total : undefined
}

/** The text that `parseDuration` reads as these milliseconds. */
export function durationText(milliseconds: number): string {
  let rest = milliseconds
  let text = ''
  for (const [unit, size] of Object.entries(perUnit)) {
    const count = Math.floor(rest / size)
    if (count > 0) text += `${count}${unit}`
    rest -= count * size
  }
  return text === '' ? '0' : text
}
