import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { memorySkillFiles, SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import type { Rule } from './policed.js'
import { callStateless } from './stateless-call.js'

const skill = (name: string): string => `---\nname: ${name}\ndescription: of ${name}\n---\nread me`

/** The official server with two skills, behind the proxy with these rules. */
async function skilled(t: TestContext, rules: readonly Rule[]) {
  const files = {
    'open/SKILL.md': skill('open'),
    'open/more/a.md': 'a',
    'open/inner/b.md': 'b',
    'hidden/SKILL.md': skill('hidden'),
  }
  const skills = await SkillsExtension.load(memorySkillFiles(files))
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'skilled', version: '1' }, { capabilities: { resources: {} } })
    skills.attach(server)
    return server
  })
  t.after(() => handler.close())
  const answer = toNodeHandler(handler)
  const target = await listening(t, (request, response) => void answer(request, response))
  const plugins = [{ use: 'policy/tools', with: { rules } }]
  const { addresses } = await serving(t, proxy(ProxySettings.parse({ targetUri: target, plugins })))

  return async (method: string, params: { readonly uri?: string } = {}): Promise<unknown> => {
    const response = await callStateless(addresses.main ?? '', method, params)
    const { result, error } = Object(await response.json())
    if (result === undefined) return error.data?.error ?? error.message
    const listed: readonly { readonly uri: string }[] = result.skills ?? result.resources ?? [result.skill]
    return listed.map(({ uri }) => uri)
  }
}

const OPEN = 'skill://open/SKILL.md'
const HIDDEN = 'skill://hidden/SKILL.md'

for (const rules of [
  [{ deny: ['resource:skill://hidden/*', 'resource:skill://hidden', 'resource:skill://open/inner'] }],
  [{ allow: ['resource:skill://open*'] }, { deny: ['resource:skill://open/inner'] }],
]) {
  test(`skills are resources by their URI: ${JSON.stringify(rules)}`, async (t) => {
    const ask = await skilled(t, rules)

    assert.deepEqual(await ask('skills/list'), [OPEN])
    assert.deepEqual(await ask('skills/get', { uri: OPEN }), [OPEN])
    assert.equal(await ask('skills/get', { uri: HIDDEN }), 'policy_denied')
    assert.deepEqual(await ask('resources/directory/read', { uri: 'skill://open' }), [
      OPEN,
      'skill://open/more',
    ])
    assert.equal(await ask('resources/directory/read', { uri: 'skill://hidden' }), 'policy_denied')
    assert.equal(await ask('Skills/List'), 'message_ambiguous')
  })
}
