import type { Contestant } from '../contestant.js'
import type { BenchContext } from '../context.js'
import { sallyport } from '../proxies/own.js'
import type { Figure } from '../results.js'
import { callTool, measureWithPlugins } from './with-plugins.js'

export const POLICY = 'policy/tools, 100 rules'

const ROW = {
  row: 'policy',
  title: 'a call (RS256 in, a bearer and two headers out), with 100 rules for tools',
}

/** Measures calls without a policy, and with one whose last rule allows them. */
export const measurePolicy = (context: BenchContext): Promise<readonly Figure[]> =>
  measureWithPlugins(
    context,
    ROW,
    [{ name: POLICY, plugins: [{ use: 'policy/tools', with: { rules: rules() } }] }],
    check,
  )

/** Rules of every form; the name of the called tool is a row of x. */
export function rules(): readonly object[] {
  const others = Array.from({ length: 99 }, (_, index) => [
    { allow: [`search_${index}`, `read_${index}_*`] },
    { allow: [`write_${index}_*`], when: { groups: [`team-${index}`] } },
    { allow: [`delete_${index}_*`], scopes: [`tools:delete:${index}`] },
    { deny: [`*_debug_${index}`] },
  ]).map((forms, index) => forms[index % forms.length] ?? {})
  return [...others, { allow: ['x*'] }]
}

/** Checks that the policy really decides. */
async function check(contestant: Contestant, token: string): Promise<void> {
  const { name } = contestant
  for (const [tool, isAllowed] of [
    ['xyz', true],
    ['abc', name === sallyport.name],
  ] as const) {
    const status = await callTool(contestant, token, tool)
    if (status !== (isAllowed ? 200 : 403))
      throw new Error(`${name}: a call of ${tool} was answered with ${status}`)
  }
}
