/** What a provider gives and a user gets: a name, a type, and how many may provide it. */
interface Handle<T> {
  readonly name: string
  readonly token: symbol
  /** Only the compiler reads it: it ties the handle to its type. */
  readonly type?: T
}

/** A capability with a single provider in a scope; the nearest one serves. */
export interface One<T> extends Handle<T> {
  readonly kind: 'one'
}

/** A capability that any number may provide, kept in list order: the outer scope's first. */
export interface Many<T> extends Handle<T> {
  readonly kind: 'many'
  /** It speaks of the whole process: what a scope provides is seen outside it too. */
  readonly shared: boolean
}

export type Capability = One<unknown> | Many<unknown>

// `Symbol.for`, so that two copies of a third party's contract file still name the same capability.
const tokenOf = (name: string): symbol => Symbol.for(`sallyport/${name}`)

export function one<T>(name: string): One<T> {
  return { kind: 'one', name, token: tokenOf(name) }
}

export function many<T>(name: string, { shared = false }: { shared?: boolean } = {}): Many<T> {
  return { kind: 'many', name, token: tokenOf(name), shared }
}
