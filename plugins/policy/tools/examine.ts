import type { Examination, ListedSubject } from 'sallyport'
import { type Glob, messageOf, nearest } from 'sallyport/toolkit'
import { compilePatterns } from './compiled-pattern.js'
import type { Rule } from './options.js'
import { Rules } from './rules.js'

const CHECK = 'lists'

/** Compares the rules with the lists of the target, and reports patterns that match nothing there. */
export async function examineRules(examination: Examination, rules: readonly Rule[]): Promise<void> {
  const { around, probes, ok, warning } = examination
  const target = around.find((facts) => facts.target !== undefined)?.target
  if (target === undefined) return ok(CHECK, 'not compared: no target is in the same scope')
  const { url, ...tls } = target
  try {
    const bearer = around.find((facts) => facts.bearer !== undefined)?.bearer?.()
    const lists = await probes.lists(url, { ...tls, bearer })
    if (lists === undefined)
      return ok(CHECK, 'not compared: the target needs a credential that this command does not have')
    if (!lists.complete) return ok(CHECK, 'not compared: the target lists more than this command reads')
    report(examination, rules, lists.listed)
  } catch (error) {
    warning(CHECK, 'LISTS_UNREAD', `not compared: ${messageOf(error)}`, 'see the findings about the target')
  }
}

function report(
  { ok, warning }: Examination,
  rules: readonly Rule[],
  listed: readonly ListedSubject[],
): void {
  const compiled = new Rules(rules, () => true)
  const used = new Set(listed.flatMap((each) => compiled.patternsFor(each) ?? []).map(({ place }) => place))
  const unmatched = compilePatterns(rules).filter(({ place }) => !used.has(place))
  const namesOf = (...kinds: ListedSubject['kind'][]): readonly string[] =>
    kinds.flatMap((kind) => listed.filter((each) => each.kind === kind).map(({ name }) => name))
  for (const { rule, text, kind, glob } of unmatched) {
    const meant = nearestTo(glob, kind === 'resource' ? namesOf('resource', 'template') : namesOf(kind))
    const advice =
      meant === undefined ? 'correct it, or leave it out' : `did you mean ${JSON.stringify(meant)}?`
    const detail = `the pattern matches no ${kind} of the target`
    // The check has the pattern in its name: a second finding with the same check would be dropped.
    warning(`rules[${rule}] ${JSON.stringify(text)}`, 'PATTERN_UNMATCHED', detail, advice)
  }
  const count = (kind: ListedSubject['kind']): string => `${namesOf(kind).length} ${kind}s`
  const counted = [count('tool'), count('prompt'), count('resource')].join(', ')
  if (unmatched.length === 0) ok(CHECK, `every pattern matches at least one name of the target: ${counted}`)
}

/** Compares the text of a pattern, up to its first star, with the beginnings of names. */
function nearestTo([begun, ...rest]: Glob, known: readonly string[]): string | undefined {
  if (rest.length === 0) return nearest(begun, known)
  const beginnings = new Map(known.map((each) => [each.slice(0, begun.length + 1), each]))
  const found = nearest(begun, beginnings.keys())
  return found === undefined ? undefined : beginnings.get(found)
}
