import type { Entry, List, Scope } from 'sallyport'
import { z } from 'zod'
import { refuse, refuseUnknown } from './refuse.js'

const PLACES = ['before', 'after', 'replaces'] as const

type Place = (typeof PLACES)[number]

/** An entry of a list, in any file. */
export const entryFields = {
  use: z.string().min(1).describe('a built-in name, a package, or a path that starts with ./, ../ or /'),
  with: z.unknown().optional().describe("the plugin's options"),
  id: z.string().min(1).optional().describe('tells it apart from another entry of the same plugin'),
  required: z.boolean().optional().describe('false lets the gateway start without it'),
}

/** The operator's own plugins in a preset: the key `plugins` of its file, and its flag. */
export const addedPlugins = z
  .array(
    z
      .strictObject({
        ...entryFields,
        before: z.string().optional().describe('place it before this entry'),
        after: z.string().optional().describe('place it after this entry'),
        replaces: z.string().optional().describe('put it in the place of this entry, which is left out'),
      })
      .superRefine((row, context) => {
        if (PLACES.filter((place) => row[place] !== undefined).length < 2) return
        refuse(context, [], `expected one of ${PLACES.join(', ')}`)
      }),
  )
  .default([])
  .describe(
    'added plugins; `sallyport plugins` lists the built-in ones, --print-plugins the names for their positions',
  )

export type AddedPlugins = z.output<typeof addedPlugins>

interface Fault {
  readonly index: number
  readonly place: Place
  readonly message: string
  /** The known names, when the given name is unknown. */
  readonly known?: readonly string[]
}

/**
 * Inserts each added plugin at its position, counted with those inserted before it; one without a position is last.
 */
export function withAddedPlugins<Item extends Entry | Scope>(
  own: readonly Item[],
  added: AddedPlugins,
): { readonly list: readonly (Item | Entry)[]; readonly faults: readonly Fault[] } {
  const faults: Fault[] = []
  let list: readonly (Item | Entry)[] = own
  for (const [index, row] of added.entries()) {
    const place = PLACES.find((each) => row[each] !== undefined)
    const wanted = place === undefined ? undefined : row[place]
    if (place === undefined || wanted === undefined) {
      list = [...list, entryOf(row, index)]
      continue
    }
    const found = candidates(list, wanted)
    const [target] = place === 'after' ? found.slice(-1) : found
    if (target === undefined) {
      const known = [...new Set(entriesIn(list).map(nameOf))]
      const isLater = candidates(added.slice(index + 1).map(entryOf), wanted).length > 0
      faults.push(
        isLater
          ? { index, place, message: 'it is below this one in `plugins`: expected one above it' }
          : { index, place, message: 'no entry has this name', known },
      )
    } else if (place === 'replaces' && found.length > 1) {
      const names = found.map(nameOf).join(', ')
      faults.push({ index, place, message: `several entries have this name: expected one of ${names}` })
    } else list = placed(list, target, place, entryOf(row, index))
  }
  return { list, faults }
}

/** The faults in the positions of added plugins. */
export function addedPluginRules(own: List, added: AddedPlugins, context: z.core.$RefinementCtx): void {
  for (const { index, place, message, known } of withAddedPlugins(own, added).faults) {
    const path = ['plugins', index, place]
    if (known === undefined) refuse(context, path, message)
    else refuseUnknown(context, path, message, { known })
  }
}

/** Whether the list, with the added plugins, still has an entry, or has the same plugin again. */
export const isReplaced = (use: string, added: AddedPlugins): boolean =>
  added.some(({ replaces }) => replaces === use)

export const isAdded = (use: string, added: AddedPlugins): boolean => added.some((row) => row.use === use)

function entryOf({ use, with: options, id, required }: AddedPlugins[number], index: number): Entry {
  return {
    use,
    ...(options !== undefined && { with: options }),
    ...(id !== undefined && { id }),
    ...(required !== undefined && { required }),
    origin: { '': ['plugins', index, 'with'] },
    named: ['plugins', index, 'use'],
  }
}

/** The entries with a name, in scopes too. The name is an `id`, or else the plugin of an entry. */
function candidates(list: List, name: string): readonly Entry[] {
  const entries = entriesIn(list)
  const exact = entries.filter((entry) => nameOf(entry) === name)
  return exact.length > 0 ? exact : entries.filter(({ use }) => use === name)
}

function placed<Item extends Entry | Scope>(
  list: readonly Item[],
  target: Entry,
  place: Place,
  entry: Entry,
): (Item | Entry)[] {
  return list.flatMap((item): readonly (Item | Entry)[] => {
    if ('scope' in item) return [{ ...item, plugins: placed(item.plugins, target, place, entry) }]
    if (item !== target) return [item]
    return { before: [entry, item], after: [item, entry], replaces: [entry] }[place]
  })
}

const entriesIn = (list: List): readonly Entry[] =>
  list.flatMap((item) => ('scope' in item ? entriesIn(item.plugins) : [item]))

const nameOf = ({ id, use }: Entry): string => id ?? (typeof use === 'string' ? use : use.name)
