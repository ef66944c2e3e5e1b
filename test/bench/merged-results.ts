import { goalResults } from './goals.js'
import type { Results } from './results.js'
import { UsageError } from './usage-error.js'

interface RowResult {
  readonly row: string
}

/** A saved run whose rows are replaced by the rows of a later run. */
export function mergedResults(kept: Results, later: Results): Results {
  if (machineOf(kept) !== machineOf(later))
    throw new UsageError(`--write: the saved run is of ${machineOf(kept)}, and this is ${machineOf(later)}`)
  const rows = new Set([...later.calls, ...later.figures].map(({ row }) => row))
  const replaced = <T extends RowResult>(old: readonly T[], fresh: readonly T[]): readonly T[] => {
    const order = [...new Set(old.map(({ row }) => row))]
    const all = [...old.filter(({ row }) => !rows.has(row)), ...fresh]
    return all.toSorted((a, b) => order.indexOf(a.row) - order.indexOf(b.row))
  }
  const found = {
    calls: replaced(kept.calls, later.calls),
    figures: replaced(kept.figures, later.figures),
  }
  const commands = [...new Set([...(kept.renewed ?? []), later.command])]
  return { ...kept, ...found, reach: goalResults(found), renewed: commands }
}

const machineOf = ({ node, cores, cpu }: Results): string => `Node ${node} on ${cores} cores of ${cpu}`
