import { Misuse } from './misuse.js'
import { reached } from './reach.js'
import type { Results } from './results.js'

interface OfRow {
  readonly row: string
}

/** A run in which the rows of a later one stand in place of its own. */
export function renewed(kept: Results, later: Results): Results {
  if (machineOf(kept) !== machineOf(later))
    throw new Misuse(
      `--write: the run that is kept is of ${machineOf(kept)}, and this is ${machineOf(later)}`,
    )
  const rows = new Set([...later.calls, ...later.figures].map(({ row }) => row))
  const replaced = <T extends OfRow>(old: readonly T[], fresh: readonly T[]): readonly T[] => {
    const order = [...new Set(old.map(({ row }) => row))]
    const all = [...old.filter(({ row }) => !rows.has(row)), ...fresh]
    return all.toSorted((a, b) => order.indexOf(a.row) - order.indexOf(b.row))
  }
  const found = {
    calls: replaced(kept.calls, later.calls),
    figures: replaced(kept.figures, later.figures),
  }
  const commands = [...new Set([...(kept.renewed ?? []), later.command])]
  return { ...kept, ...found, reach: reached(found), renewed: commands }
}

const machineOf = ({ node, cores, cpu }: Results): string => `Node ${node} on ${cores} cores of ${cpu}`
