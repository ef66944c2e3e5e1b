import { sideBySide } from '../bridges/side-by-side.js'
import type { BenchContext } from '../context.js'
import type { Figure } from '../results.js'

/** Measures `sallyport proxy stdio` and mcp-remote, in turn, in front of the same server. */
export async function measureBridges({ effort }: BenchContext): Promise<readonly Figure[]> {
  const compared = await sideBySide(...effort.bridges)
  return compared.flatMap(({ what, unit, ours, theirs, ratio }): Figure[] => {
    const title = `stdio: ${what}`
    return [
      { row: 'stdio', title, name: 'Sallyport', value: ours, unit },
      { row: 'stdio', title, name: 'mcp-remote', value: theirs, unit },
      { row: 'stdio', title: `${title} against mcp-remote`, name: 'Sallyport', value: ratio, unit: 'times' },
    ]
  })
}
