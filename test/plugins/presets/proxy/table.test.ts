import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogue } from 'sallyport/builtin'
import { jsonSchemaOf } from 'sallyport/embed'
import { isJsonObject } from 'sallyport/toolkit'
import { readOption } from '#cli/line/read.js'
import { tunnelTable } from '#plugins/presets/proxy/table.js'
import type { Setting } from '#plugins/presets/settings/setting.js'

const rows: readonly Setting[] = tunnelTable.flatMap((group): readonly Setting[] => group.options)

const optionsSchema = async (use: string) => {
  const load = catalogue[use] ?? assert.fail(`there is no plugin ${use}`)
  return (await load()).default.options ?? assert.fail(`${use} has no options`)
}

/** The value of an option that nobody wrote. */
async function defaultOf(use: string, option: string): Promise<unknown> {
  const schema = await optionsSchema(use)
  const { required } = jsonSchemaOf(schema) ?? {}
  assert.ok(Array.isArray(required))
  const least = Object.fromEntries(required.map((name: string) => [name, 'https://a.example']))
  const result = await schema['~standard'].validate(least)
  assert.ok(result.issues === undefined, JSON.stringify(result.issues))
  return Reflect.get(Object(result.value), option)
}

test('every row becomes an option that its plugin has, and shows the default of that option', async () => {
  const mapped = rows.filter(({ to }) => to !== undefined)
  assert.ok(mapped.length > 45)
  for (const row of mapped) {
    const [use = '', option = ''] = row.to?.split('.') ?? []
    const { properties } = jsonSchemaOf(await optionsSchema(use)) ?? {}
    assert.ok(isJsonObject(properties) && option in properties, row.to)
    if (row.default === undefined) continue
    const shown = JSON.stringify(readOption(row, [row.default])).toLowerCase()
    const usual = JSON.stringify(await defaultOf(use, option)).replace(/"urn:.*:/, '"')
    assert.equal(usual, shown, row.to)
  }
})

test('a setting that a row needs is in the table, or a rule of the preset covers it', () => {
  const names = rows.map(({ name }) => name)
  for (const { name, needs } of rows) {
    const [needed] = needs?.split(' ') ?? []
    assert.ok(
      needed === undefined || ['authentication', 'https-target'].includes(needed) || names.includes(needed),
      name,
    )
  }
})
