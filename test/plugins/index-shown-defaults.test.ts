import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogue } from 'sallyport/builtin'
import { jsonSchemaOf } from 'sallyport/embed'
import { isJsonObject } from 'sallyport/toolkit'
import { z } from 'zod'

test('the tables, `plugins` and the editor show every default that a plugin has', async () => {
  const hidden: string[] = []
  let shown = 0
  for (const [name, load] of Object.entries(catalogue)) {
    const { options } = (await load()).default
    const properties = jsonSchemaOf(options)?.['properties']
    for (const [option, schema] of Object.entries(fieldsOf(options))) {
      if (z.safeParse(schema, undefined).data === undefined) continue
      const told = isJsonObject(properties) ? properties[option] : undefined
      if (isJsonObject(told) && 'default' in told) shown++
      else hidden.push(`${name} ${option}`)
    }
  }

  assert.deepEqual(hidden, [])
  assert.ok(shown > 50)
})

function fieldsOf(schema: unknown): Readonly<Record<string, z.core.$ZodType>> {
  if (schema instanceof z.ZodPipe) return fieldsOf(schema.in)
  return schema instanceof z.ZodObject ? schema.shape : {}
}
