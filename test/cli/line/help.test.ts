import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commands } from '#cli/commands/index.js'
import { commandHelp, programHelp } from '#cli/line/help.js'
import type { Command } from '#cli/line/option.js'
import { helpOptions } from '#cli/line/shared-flags.js'
import { exchange, oauth } from '#plugins/presets/proxy/table.js'

function pageOf(width: number) {
  return {
    width,
    paint: (_style: string, text: string) => text,
    called: ({ name }: Command) => `sallyport ${name}`,
  }
}

test('the help of a command names every flag and every default', () => {
  for (const command of commands) {
    const text = commandHelp(command, pageOf(80)).replaceAll(/\s+/g, ' ')

    for (const { name, default: fallback } of command.groups.flatMap((group) => group.options)) {
      assert.ok(text.includes(`--${name} `), name)
      if (fallback !== undefined) assert.ok(text.includes(`default ${fallback}`), name)
    }
  }
})

test('no line is wider than the terminal', () => {
  const [command] = commands
  assert.ok(command !== undefined)
  const everything = { ...command, groups: [oauth, exchange], examples: [] }

  for (const width of [80, 100]) {
    for (const each of [...commands, everything]) {
      for (const line of commandHelp(each, pageOf(width)).split('\n')) assert.ok(line.length <= width, line)
    }
    for (const line of programHelp(commands, helpOptions, pageOf(width)).split('\n')) {
      assert.ok(line.length <= width, line)
    }
  }
})

test('the help of the program names every command', () => {
  const text = programHelp(commands, helpOptions, pageOf(80))

  for (const { name } of commands) assert.match(text, new RegExp(`^  ${name} `, 'm'))
})

test('the help shows the remarks of a flag beside it', () => {
  const [proxy] = commands.filter(({ name }) => name === 'proxy')
  assert.ok(proxy !== undefined)
  const text = commandHelp({ ...proxy, groups: [...proxy.groups, oauth] }, pageOf(400))

  assert.match(text, /--target-uri URL +.*\(required\)/)
  assert.match(text, /--remote-forward-headers NAME=VALUE\n.*\(may be repeated\)/)
  assert.match(text, /--remote-auth-client-secret SECRET\n.*SERVICE_REMOTE_OAUTH_CLIENT_SECRET/)
  assert.match(text, /-h, --help +/)
})
