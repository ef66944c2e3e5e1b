import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commands } from '#cli/commands/index.js'
import { parse } from '#cli/line/parse.js'
import { helpOptions } from '#cli/line/shared-flags.js'
import { dispatch } from '#cli/program.js'
import { placesOf } from './parsed.js'

function read(argv: readonly string[]) {
  return parse(argv, {}, commands, helpOptions)
}

const target = ['--target-uri', 'https://target.example']

test('the parser finds a subcommand at any position of the flags, and sade finds the same one', async () => {
  for (const argv of [
    ['proxy', 'stdio', 'foo', ...target],
    ['proxy', ...target, 'stdio', 'foo'],
    [...target, 'proxy', '--debug', 'stdio', '--remote-auth', 'foo'],
    ['proxy', 'stdio', ...target, '--', 'foo'],
  ]) {
    const { invocation, canonical } = read(argv)

    assert.equal(invocation?.command.name, 'proxy stdio')
    assert.deepEqual(invocation?.positionals, ['foo'])
    assert.equal(await dispatch(canonical, commands), await invocation?.command.run())
  }
})

test('a subcommand without a server name has no server name', () => {
  assert.deepEqual(placesOf(read(['proxy', 'stdio', ...target])), ['SERVER_NAME'])
})

test('a subcommand word after the server name is one argument too many', () => {
  assert.deepEqual(placesOf(read(['proxy', 'foo', 'stdio', ...target])), ['SERVER_NAME'])
})
