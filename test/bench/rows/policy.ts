import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sallyport, withFile } from '../anchors/own.js'
import type { Contestant } from '../contestant.js'
import type { Figure } from '../results.js'
import { median } from '../statistics.js'
import type { World } from '../world.js'
import { callRows } from './calls.js'
import { measureCalls } from './measure-calls.js'
import { askedOf, startTarget } from './proxied.js'

export const POLICY = 'policy/tools, 100 rules'
const TITLE = 'a call (RS256 in, a bearer and two headers out), with 100 rules for tools'

/** The same calls without a policy, and with one whose last rule allows them. */
export async function measurePolicy(world: World): Promise<readonly Figure[]> {
  const row = callRows.find(({ key }) => key === 'rs256')
  if (row === undefined) throw new Error('no row has RS256 in')
  const target = await startTarget()
  const { task, token, order } = await askedOf(world, row, target)
  const file = join(world.home, 'policy.json')
  writeFileSync(file, JSON.stringify({ plugins: [{ use: 'policy/tools', with: { rules: rules() } }] }))
  const standing: Contestant[] = []
  try {
    standing.push(await sallyport.start(task, world.home), await withFile(task, POLICY, file))
    for (const { name, port } of standing) await check(name, port, token)
    const everyone = standing.map((contestant) => ({ contestant, order }))
    const found = await measureCalls(world, everyone, {
      row: 'policy',
      title: TITLE,
      subject: sallyport.name,
    })
    const [without = Number.NaN, judged = Number.NaN] = found.map(({ cpu }) => median(cpu))
    const figure = { row: 'policy', title: TITLE }
    return [
      { ...figure, name: `${POLICY}, against none`, value: judged / without, unit: 'times' },
      { ...figure, name: POLICY, value: judged - without, unit: 'µs' },
    ]
  } finally {
    await Promise.all([...standing, target].map((one) => one.stop()))
  }
}

/** Of every form that there is; the tool of the calls has a name of many x. */
export function rules(): readonly object[] {
  const others = Array.from({ length: 99 }, (_, index) => [
    { allow: [`search_${index}`, `read_${index}_*`] },
    { allow: [`write_${index}_*`], when: { groups: [`team-${index}`] } },
    { allow: [`delete_${index}_*`], scopes: [`tools:delete:${index}`] },
    { deny: [`*_debug_${index}`] },
  ]).map((forms, index) => forms[index % forms.length] ?? {})
  return [...others, { allow: ['x*'] }]
}

/** Nobody is fast by leaving work out. */
async function check(name: string, port: number, token = ''): Promise<void> {
  for (const [tool, isAllowed] of [
    ['xyz', true],
    ['abc', false],
  ] as const) {
    const { status } = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool } }),
    })
    const expected = isAllowed || name === sallyport.name ? 200 : 403
    if (status !== expected) throw new Error(`${name}: a call of ${tool} was answered with ${status}`)
  }
}
