import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commands } from '#cli/commands/index.js'
import type { Option } from '#cli/line/option.js'
import { accumulates } from '#cli/line/option.js'
import { readOption } from '#cli/line/read.js'
import { exchange, oauth } from '#plugins/presets/proxy/table.js'

const groups = [...commands.flatMap((command) => command.groups), oauth, exchange]
const options = groups.flatMap((group): readonly Option[] => group.options)

test('a flag takes a value in all commands that have it, or in none', () => {
  const types = new Map<string, string>()
  for (const { name, type } of options) {
    assert.equal(types.get(name) ?? type, type, name)
    types.set(name, type)
  }
})

test('no command has a flag twice', () => {
  for (const command of commands) {
    const names = command.groups.flatMap((group) => group.options.map(({ name }) => name))
    assert.equal(new Set(names).size, names.length, command.name)
  }
})

test('every default is a value that its own reader accepts', () => {
  for (const option of options) {
    if (option.default !== undefined)
      assert.notEqual(readOption(option, [option.default]), undefined, option.name)
  }
})

test('every secret that is one value can also come from a file', () => {
  const names = new Set(options.map(({ name }) => name))
  for (const option of options.filter(({ secret }) => secret === true)) {
    if (!accumulates(option)) assert.ok(names.has(`${option.name}-file`), option.name)
  }
})

test('the defaults are the documented ones', () => {
  const defaults = new Map(options.map((option) => [option.name, option.default]))

  assert.equal(defaults.get('host'), '127.0.0.1')
  assert.equal(defaults.get('oidc-scopes'), 'openid')
  assert.equal(defaults.get('remote-auth-callback-port'), '8666')
  assert.equal(defaults.get('remote-auth-timeout'), '30s')
  assert.equal(defaults.get('token-exchange-subject-token-type'), 'access_token')
  assert.equal(defaults.get('internal-address'), undefined)
})

test('every command imports its own module when it runs', async () => {
  for (const command of commands) assert.equal(typeof (await command.run()), 'function', command.name)
})
