/** What a new plugin of one kind begins as; `NAME` is its name. */
export interface Kind {
  readonly source: string
  readonly test: string
}
