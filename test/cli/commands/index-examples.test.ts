import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogue } from 'sallyport/builtin'
import { isPlannedScope, planList } from 'sallyport/embed'
import { proxy } from 'sallyport/presets/proxy'
import { commands } from '#cli/commands/index.js'
import { readProxySettings } from '#cli/commands/proxy/run.js'
import { recordedLog } from '#kit/booted.js'
import { wordsOf } from '#kit/words.js'
import { parsed, placesOf } from '../parsed.js'

/** The arguments of the calls in these examples, as a shell would hand them over. */
const callsIn = (examples: readonly string[]): string[][] =>
  examples
    .filter((example) => example.startsWith('sallyport '))
    .map((example) => wordsOf(example.replaceAll('\\\n', ' ').split(/ [<>] /)[0] ?? '').slice(1))

test('the parser understands every example of every command', () => {
  for (const { name, examples } of commands) {
    assert.ok(examples.length > 0, name)
    for (const argv of callsIn(examples)) {
      const outcome = parsed(argv)
      assert.deepEqual(placesOf(outcome), [], argv.join(' '))
      assert.ok(argv.join(' ').startsWith(outcome.invocation?.command.name ?? '?'), argv.join(' '))
    }
  }
})

test('the examples of the proxy are its four scenarios, and each is a list that would boot', async () => {
  const { examples = [] } = commands.find(({ name }) => name === 'proxy') ?? {}
  const doors: [incoming: string | undefined, outgoing: string | undefined][] = []
  for (const argv of callsIn(examples)) {
    const { invocation } = parsed(argv)
    assert.ok(invocation !== undefined)
    const outcome = await readProxySettings(invocation)
    assert.ok('settings' in outcome, argv.join(' '))
    const { items } = await planList(proxy(outcome.settings), {
      catalogue,
      folder: process.cwd(),
      log: recordedLog().log,
    })
    const uses = items.map((item) => (isPlannedScope(item) ? '' : item.plugin.name))
    const first = (kind: string): string | undefined => uses.find((use) => use.startsWith(kind))
    doors.push([first('auth/'), first('credential/')])
  }

  assert.deepEqual(doors, [
    ['auth/anonymous', undefined],
    ['auth/anonymous', 'credential/oauth'],
    ['auth/oidc', undefined],
    ['auth/oidc', 'credential/static-bearer'],
  ])
})
