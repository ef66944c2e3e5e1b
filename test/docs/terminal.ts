const COLUMNS = 104
const [WIDTH, HEIGHT, MARGIN] = [7.8, 18, 16]

/** What stands in a terminal after one command. */
export interface Exchange {
  readonly title: string
  readonly command: string
  readonly output: string
}

type Style = 'title' | 'command' | 'output'

/** A terminal as a picture made of text: small, sharp, and readable by those who do not see it. */
export function terminal(exchanges: readonly Exchange[]): string {
  const lines = exchanges.flatMap(({ title, command, output }): [Style, string][] => [
    ...folded(`# ${title}`).map((line): [Style, string] => ['title', line]),
    ...folded(`$ ${command}`).map((line): [Style, string] => ['command', line]),
    ...output
      .trimEnd()
      .split('\n')
      .flatMap(folded)
      .map((line): [Style, string] => ['output', line]),
    ['output', ''],
  ])
  lines.pop()
  const [width, height] = [COLUMNS * WIDTH + 2 * MARGIN, lines.length * HEIGHT + 2 * MARGIN]
  const rows = lines.map(
    ([style, text], index) =>
      `<text class="${style}" x="${MARGIN}" y="${MARGIN + (index + 0.75) * HEIGHT}">${escaped(text)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${Math.ceil(width)} ${height}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13">
<title>Commands in a terminal, and what they print</title>
<style>text{white-space:pre}.title{fill:#8b949e}.command{fill:#7ee787}.output{fill:#e6edf3}</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${rows.join('\n')}
</svg>
`
}

/** At spaces where there are any. */
const folded = (line: string): string[] =>
  line.match(new RegExp(`.{1,${COLUMNS}}(?: |$)|.{1,${COLUMNS}}`, 'g')) ?? ['']

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
