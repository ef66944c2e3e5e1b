const cell = (text: string): string => plain(text).replaceAll('|', '\\|').replaceAll('\n', ' ')

/** Escapes `<` outside backticks, where it would open an element. */
const plain = (text: string): string =>
  text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? part.replaceAll('<', '&lt;') : part))
    .join('`')

const row = (...cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n')

/** The text of a page without its code blocks, which hold no links and headings. */
const withoutCode = (text: string): string => text.replaceAll(/^```[\s\S]*?^```$/gm, '')

/** The targets of links and pictures, in Markdown and in HTML. */
export function linksIn(text: string): string[] {
  const prose = withoutCode(text).replaceAll(/`[^`\n]*`/g, '``')
  const written = [...prose.matchAll(/\]\(([^()\s]+)\)/g), ...prose.matchAll(/(?:src|href)="([^"]+)"/g)]
  return written.map(([, target = '']) => target)
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsIn(text: string): string[] {
  const seen = new Map<string, number>()
  return [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const name = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    const times = seen.get(name) ?? 0
    seen.set(name, times + 1)
    return times === 0 ? name : `${name}-${times}`
  })
}
