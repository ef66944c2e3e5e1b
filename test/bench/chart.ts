import type { CallResult, Results } from './results.js'
import { median } from './statistics.js'

const SHOWN = ['open', 'rs256', 'rs256-new', 'introspection']
const [WIDTH, LEFT, RIGHT, BAR, GAP] = [760, 130, 80, 16, 6]
// Tones between light and dark, since a picture does not know the background of its page.
const [TEXT, OTHERS, OURS] = ['#6e7781', '#8b949e', '#2f81f7']

/** Draws the processor time of a call as bars: shorter is better. */
export function chartOf({ calls }: Pick<Results, 'calls'>): string {
  const groups = SHOWN.map((row) => calls.filter((one) => one.row === row)).filter((some) => some.length > 0)
  const most = Math.max(...groups.flat().map(({ cpu }) => median(cpu)))
  const parts: string[] = []
  let y = 24
  parts.push(words(0, y, 'Processor time of a call in microseconds: shorter is better', 'font-weight="600"'))
  for (const group of groups) {
    y += 34
    parts.push(words(0, y, titleOf(group, calls)))
    y += 10
    for (const one of group.toSorted((a, b) => median(a.cpu) - median(b.cpu))) {
      parts.push(...barOf(one, y, most))
      y += BAR + GAP
    }
  }
  const height = y + 8
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" font-family="system-ui, sans-serif" font-size="13" fill="${TEXT}">
<title>Processor time of a call in microseconds</title>
${parts.join('\n')}
</svg>
`
}

/** Completes a title that refers to the row before it. */
function titleOf([first]: readonly CallResult[], calls: readonly CallResult[]): string {
  const { row = '', title = '' } = first ?? {}
  const whole = calls.find((one) => `${one.row}-new` === row)?.title
  return whole === undefined ? title : title.replace('the same', whole)
}

function barOf({ name, cpu }: CallResult, y: number, most: number): string[] {
  const value = median(cpu)
  const length = Math.max(1, (value / most) * (WIDTH - LEFT - RIGHT))
  const ours = name === 'Sallyport'
  const weight = ours ? 'font-weight="600"' : ''
  return [
    words(LEFT - 8, y + BAR - 4, name, `text-anchor="end" ${weight}`),
    `<rect x="${LEFT}" y="${y}" width="${length.toFixed(1)}" height="${BAR}" rx="2" fill="${ours ? OURS : OTHERS}"/>`,
    words(LEFT + length + 8, y + BAR - 4, value.toFixed(0), weight),
  ]
}

const words = (x: number, y: number, text: string, more = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y}" ${more}>${text}</text>`
