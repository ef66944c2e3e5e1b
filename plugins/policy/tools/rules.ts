import type { Allowed, Denial, Identity, Judgement, ListedSubject, McpCall, McpSubject } from 'sallyport'
import { matchesClaims } from 'sallyport/toolkit'
import { namesSomething } from '../methods.js'
import { type CompiledPattern, compilePatterns, notAllowed } from './compiled-pattern.js'
import type { Rule } from './options.js'
import { AllowedUris, DeniedUris, NameIndex, type PatternIndex, type RuleStates } from './pattern-index.js'
import { readingsOf, templateReadingsOf, type UriReadings } from './uri.js'

// The states of a rule for a caller.
const IGNORED = 0
const COUNTS = 1
/** The rule would allow a token with more scopes. */
const LACKS_SCOPE = 2

/** The patterns of one kind. */
interface KindPatterns<Name> {
  readonly deny: PatternIndex<Name>
  readonly allow: PatternIndex<Name>
}

const ALLOWED: Allowed = { allowed: true }
const UNKNOWN_METHOD: Denial = {
  allowed: false,
  reason: 'this method is not allowed here',
  rule: 'no rule is about a method that MCP does not have',
}
const UNNAMED: Denial = {
  allowed: false,
  reason: 'this call names nothing that could be allowed',
  rule: 'a call that names nothing',
}
const noRule = (kind: McpSubject['kind']): Denial => ({
  allowed: false,
  reason: notAllowed(kind),
  rule: `no rule allows this ${kind}`,
})
const NO_RULE = { tool: noRule('tool'), prompt: noRule('prompt'), resource: noRule('resource') }
const UNCLEAR_URI: Denial = {
  allowed: false,
  reason:
    'a URI without control characters is expected, at most 2,048 characters long and encoded at most five times',
  rule: 'a URI that servers could read in several ways',
}

/** Whether there are scopes that callers of a provider could get. */
export type HasScopes = (identity: Identity) => boolean

/** The compiled rules of one entry. */
export class Rules {
  private readonly allowsOthers: boolean
  private readonly tools: KindPatterns<string>
  private readonly prompts: KindPatterns<string>
  /** `undefined` when no rule is about resources. */
  private readonly resources: KindPatterns<UriReadings> | undefined
  private readonly statesWithoutCaller: RuleStates
  private readonly cached = new WeakMap<Identity, RuleStates>()

  constructor(
    readonly rules: readonly Rule[],
    private readonly hasScopes: HasScopes,
  ) {
    const patterns = compilePatterns(rules)
    this.allowsOthers = rules.every(({ allow }) => allow === undefined)
    this.tools = splitBy(patterns, 'tool', byName, byName)
    this.prompts = splitBy(patterns, 'prompt', byName, byName)
    const isAboutResources = patterns.some(({ kind }) => kind === 'resource')
    this.resources = isAboutResources
      ? splitBy(
          patterns,
          'resource',
          (denied) => new DeniedUris(denied),
          (allowed) => new AllowedUris(allowed),
        )
      : undefined
    this.statesWithoutCaller = this.newStates(undefined)
  }

  judge(identity: Identity | undefined, { method }: McpCall, subject: McpSubject | undefined): Judgement {
    if (subject !== undefined) return this.judgeSubject(identity, subject)
    const isNamed = namesSomething(method)
    if (isNamed === undefined) return this.allowsOthers ? ALLOWED : UNKNOWN_METHOD
    return isNamed ? UNNAMED : ALLOWED
  }

  /** Whether the caller may use the listed name, or lacks only a scope for it. */
  shows(identity: Identity | undefined, listed: ListedSubject): boolean {
    const judgement = this.judgeSubject(identity, listed)
    return judgement.allowed || judgement.scopes !== undefined
  }

  /** The patterns that match, for any caller; `undefined` for a URI that no rule can judge. */
  patternsFor({ kind, name }: ListedSubject): readonly CompiledPattern[] | undefined {
    if (kind === 'tool' || kind === 'prompt') return allOf(this.patternsOfKind(kind), name)
    if (this.resources === undefined) return []
    const uri = readings(kind, name)
    return uri && allOf(this.resources, uri)
  }

  private judgeSubject(identity: Identity | undefined, { kind, name }: ListedSubject): Judgement {
    if (kind === 'tool' || kind === 'prompt')
      return this.decide(this.patternsOfKind(kind), name, identity, kind)
    if (this.resources === undefined) return this.allowsOthers ? ALLOWED : NO_RULE.resource
    const uri = readings(kind, name)
    return uri === undefined ? UNCLEAR_URI : this.decide(this.resources, uri, identity, 'resource')
  }

  private patternsOfKind(kind: 'tool' | 'prompt'): KindPatterns<string> {
    return kind === 'tool' ? this.tools : this.prompts
  }

  private decide<Name>(
    { deny, allow }: KindPatterns<Name>,
    name: Name,
    identity: Identity | undefined,
    kind: McpSubject['kind'],
  ): Judgement {
    const states = this.statesFor(identity)
    const denied = deny.first(name, states, COUNTS)
    if (denied !== undefined) return denied.denial
    if (this.allowsOthers || allow.first(name, states, COUNTS) !== undefined) return ALLOWED
    if (allow.first(name, states, LACKS_SCOPE) === undefined) return NO_RULE[kind]
    return this.nearest(allow.all(name), identity, states)?.denial ?? NO_RULE[kind]
  }

  /** The first of the rules that lack the fewest scopes, so that a client requests no more scopes than it needs. */
  private nearest(
    patterns: readonly CompiledPattern[],
    identity: Identity | undefined,
    states: RuleStates,
  ): CompiledPattern | undefined {
    return patterns
      .filter(({ rule }) => states[rule] === LACKS_SCOPE)
      .map((pattern) => ({ pattern, missing: missingScopes(this.rules[pattern.rule], identity).length }))
      .toSorted((one, other) => one.missing - other.missing)[0]?.pattern
  }

  private statesFor(identity: Identity | undefined): RuleStates {
    if (identity === undefined) return this.statesWithoutCaller
    const known = this.cached.get(identity)
    if (known !== undefined) return known
    const states = this.newStates(identity)
    this.cached.set(identity, states)
    return states
  }

  private newStates(identity: Identity | undefined): RuleStates {
    return Uint8Array.from(this.rules, (rule) => {
      if (rule.when !== undefined && !matchesClaims(rule.when, identity)) return IGNORED
      if (missingScopes(rule, identity).length === 0) return COUNTS
      return identity !== undefined && this.hasScopes(identity) ? LACKS_SCOPE : IGNORED
    })
  }
}

export const missingScopes = (
  { scopes = [] }: Pick<Rule, 'scopes'> = {},
  identity: Identity | undefined,
): readonly string[] => scopes.filter((scope) => identity?.scopes?.includes(scope) !== true)

const readings = (kind: ListedSubject['kind'], uri: string): UriReadings | undefined =>
  kind === 'template' ? templateReadingsOf(uri) : readingsOf(uri)

const byName = (patterns: readonly CompiledPattern[]): NameIndex =>
  new NameIndex(patterns.map((pattern) => [pattern.glob, pattern]))

function splitBy<Name>(
  patterns: readonly CompiledPattern[],
  kind: McpSubject['kind'],
  deny: (patterns: readonly CompiledPattern[]) => PatternIndex<Name>,
  allow: (patterns: readonly CompiledPattern[]) => PatternIndex<Name>,
): KindPatterns<Name> {
  const own = patterns.filter((pattern) => pattern.kind === kind)
  return {
    deny: deny(own.filter(({ isAllow }) => !isAllow)),
    allow: allow(own.filter(({ isAllow }) => isAllow)),
  }
}

const allOf = <Name>({ deny, allow }: KindPatterns<Name>, name: Name): readonly CompiledPattern[] => [
  ...deny.all(name),
  ...allow.all(name),
]
