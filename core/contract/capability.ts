/** A name and a type that a plugin provides and another one uses. */
interface Handle<T> {
  readonly name: string
  readonly token: symbol
  /** For the compiler only: it gives the handle its type. */
  readonly type?: T
}

/** A capability with a single provider in a scope; a scope without one uses that of the scope around it. */
export interface One<T> extends Handle<T> {
  readonly kind: 'one'
}

/** A capability with any number of providers, in list order, those of outer scopes first. */
export interface Many<T> extends Handle<T> {
  readonly kind: 'many'
  /** It concerns the whole process: what a scope provides is used outside it too. */
  readonly shared: boolean
  /**
   * It only observes: no decision depends on it, so a gateway may start without it. An entry may have
   * `required: false` when everything it provides is an observer and no other entry requires it.
   */
  readonly observes: boolean
  /** A scope can have one provider, or none. */
  readonly atMostOne: boolean
}

export type Capability = One<unknown> | Many<unknown>

/** Whether two providers in a scope are a mistake. */
export const isSingle = (capability: Capability): boolean => capability.kind === 'one' || capability.atMostOne

// `Symbol.for`, so that two installed copies of a package declare the same capability.
const tokenOf = (name: string): symbol => Symbol.for(`sallyport/${name}`)

export function one<T>(name: string): One<T> {
  return { kind: 'one', name, token: tokenOf(name) }
}

export function many<T>(
  name: string,
  {
    shared = false,
    observes = false,
    atMostOne = false,
  }: { shared?: boolean; observes?: boolean; atMostOne?: boolean } = {},
): Many<T> {
  return { kind: 'many', name, token: tokenOf(name), shared, observes, atMostOne }
}
