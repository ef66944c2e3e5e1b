import { Refusal } from 'sallyport'

/** The query of the target's own URL. It goes before the query of each request, which cannot change its parameters. */
export class TargetQuery {
  /** The parts of the query as they were written, without the question mark. */
  private readonly parts: ReadonlySet<string>
  private readonly names: ReadonlySet<string>

  constructor(private readonly search: string) {
    const parts = partsOf(search)
    this.parts = new Set(parts)
    this.names = new Set(parts.map(nameOf))
  }

  get isEmpty(): boolean {
    return this.search === ''
  }

  /**
   * Joins both queries. A request may repeat no fixed parameter: of two with the same name, many servers use the last.
   */
  before(query: string): string {
    if (this.isEmpty || query === '') return this.search + query
    const own = partsOf(query).filter((part) => !this.parts.has(part))
    if (own.some((part) => this.names.has(nameOf(part))))
      throw new Refusal(400, 'QUERY_FIXED', 'this parameter of the query is fixed by the operator')
    return [this.search, ...own].join('&')
  }
}

const partsOf = (search: string): string[] =>
  search
    .slice(1)
    .split('&')
    .filter((part) => part !== '')

/** The name as the most lenient server would read it: case is ignored, and `[` begins an index. */
function nameOf(part: string): string {
  const [name = ''] = part.split('=', 1)
  const [decoded = ''] = (new URLSearchParams(name).keys().next().value ?? '').split('[', 1)
  return decoded.trim().toLowerCase()
}
