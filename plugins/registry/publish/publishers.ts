import { type Identity, Refusal } from 'sallyport'
import { claimCondition, type Glob, globOf, matchesClaims, matchesGlob } from 'sallyport/toolkit'
import { z } from 'zod'

const EXACT = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/
const BEGINNING = /^(?:[a-zA-Z0-9.-]*|[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]*)\*$/

const pattern = z
  .string()
  .refine(
    (text) => EXACT.test(text) || BEGINNING.test(text),
    'expected the name of a server such as com.example/search, or how names begin and then *, such as com.example/*',
  )

/** The rules about which callers may publish which names. */
export const publisherRules = z.array(
  z.strictObject({
    when: claimCondition().describe(
      'claims of the caller, each with the value or one of the values that it has to have',
    ),
    names: z
      .array(pattern)
      .min(1, 'expected one name at least, such as com.example/*')
      .describe('names of servers, compared exactly; `*` at the end stands for any rest'),
    may: z
      .array(z.enum(['publish', 'edit', 'purge']))
      .min(1, 'expected publish, edit or purge')
      .describe(
        '`publish`: add versions; `edit`: change the status of versions, and delete them; `purge`: remove what was deleted for ever',
      ),
  }),
)

export type PublisherRule = z.output<typeof publisherRules>[number]

const VERBS = { publish: 'publish', edit: 'change the status of', purge: 'purge' } as const

const MOST_SHOWN = 20

/** Decides which caller may publish or edit which name. */
export class Publishers {
  private readonly rules: readonly CompiledRule[]

  constructor(rules: readonly PublisherRule[]) {
    this.rules = rules.map((rule) => ({ ...rule, globs: rule.names.map((each) => globOf(each)) }))
  }

  /** Refuses a caller that may not do this. Without a name, refuses only a caller that may not do it for any name. */
  check(action: PublisherRule['may'][number], name: string | undefined, caller: Identity): void {
    const rules = this.rules.filter(({ when, may }) => may.includes(action) && matchesClaims(when, caller))
    const isAllowed =
      name === undefined
        ? rules.length > 0
        : rules.some(({ globs }) => globs.some((glob) => matchesGlob(glob, name)))
    if (isAllowed) return
    const patterns = rules.flatMap(({ names }) => names)
    throw new Refusal(403, 'PUBLISH_FORBIDDEN', sentenceFor(VERBS[action], patterns))
  }
}

interface CompiledRule extends PublisherRule {
  readonly globs: readonly Glob[]
}

function sentenceFor(verb: string, patterns: readonly string[]): string {
  const all = [...new Set(patterns)]
  if (all.length === 0) return `you may ${verb} nothing here: no rule of this registry's publishers lets you`
  const shown = all.slice(0, MOST_SHOWN).join(', ')
  return `you may ${verb} ${shown}${all.length > MOST_SHOWN ? ' and others' : ''}, and this name is none of them`
}
