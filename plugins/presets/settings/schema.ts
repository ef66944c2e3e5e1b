import { secretText, webUrl } from 'sallyport/toolkit'
import { z } from 'zod'
import { keyOf, type Setting, type SettingGroup, type SettingsOf } from './setting.js'

/** The schema of a preset's settings: those of its table, and `sections`, which have a form of their own. */
export function settingsSchema<const Groups extends readonly SettingGroup[], Sections extends z.ZodRawShape>(
  groups: Groups,
  sections: Sections,
) {
  const rows = groups.flatMap(({ options }) => options).filter(({ path }) => path === undefined)
  const shape = Object.fromEntries(rows.map((row) => [keyOf(row.name), schemaOf(row).describe(row.help)]))
  // The compiler cannot follow a shape that is made of a table; `SettingsOf` says the same of its rows.
  return z.strictObject({ ...shape, ...sections }) as unknown as z.ZodType<
    SettingsOf<Groups> & z.output<z.ZodObject<Sections>>
  >
}

/** The schema of a section whose keys are settings too. Its plugin checks which keys are required. */
export const sectionSchema = (rows: readonly Setting[]) =>
  z.strictObject(
    Object.fromEntries(rows.map((row) => [row.path?.at(-1) ?? row.name, inSection(row).describe(row.help)])),
  )

// A value such as 1.2, which is not text in a file, is not text as a flag either.
function inSection(row: Setting): z.ZodType {
  const { type, choices = [] } = row
  if (type !== 'choice') return schemaOf(row)
  return z.literal([...choices, ...choices.map(Number).filter(Number.isFinite)]).optional()
}

const text = z.string().min(1)

const pairs = z.array(z.tuple([text, z.string()]))
const secretPairs = z.array(z.tuple([text, z.string().meta({ writeOnly: true })]))

// Named by its number: the text before the last `=` may be a secret whose name is missing.
function refuseEmpty(list: z.output<typeof pairs>, context: z.core.$RefinementCtx): void {
  for (const [index, pair] of list.entries()) {
    if (pair[1] !== '') continue
    const message = `the value of pair ${index + 1} is empty: give it one, or leave the pair out`
    context.issues.push({ code: 'custom', input: pair, path: [index], message })
  }
}

function schemaOf(row: Setting): z.ZodType {
  const schema = valueSchema(row)
  const { type, required, to } = row
  if (type === 'boolean') return schema.default(false)
  if (type === 'pair' || type === 'repeatable') return schema.default([])
  if (row.default !== undefined && to === undefined) return schema.default(defaultOf(type, row.default))
  return required === true ? schema : schema.optional()
}

function valueSchema({ type, secret, emptyAllowed, choices = [], min = 0, max }: Setting): z.ZodType {
  const string = secret === true ? secretText() : text
  switch (type) {
    case 'boolean':
      return z.boolean()
    case 'port':
      return z.int().min(0).max(65_535)
    case 'int':
    case 'count':
    case 'duration':
    case 'size':
      return z
        .int()
        .min(min)
        .max(max ?? Number.MAX_SAFE_INTEGER)
    case 'url':
      return webUrl()
    case 'address':
      // A pattern, so that editors check it too.
      return z.string().regex(/^.+:\d+$/, 'expected HOST:PORT')
    case 'list':
    case 'repeatable':
      return z.array(text)
    case 'pair':
      return emptyAllowed === true ? pairs : (secret === true ? secretPairs : pairs).superRefine(refuseEmpty)
    case 'choice':
      return z.enum(choices)
    case 'string':
      return emptyAllowed === true ? z.string() : string
  }
}

function defaultOf(type: Setting['type'], written: string): unknown {
  if (type === 'list') return written.split(',')
  return type === 'port' || type === 'int' ? Number(written) : written
}
