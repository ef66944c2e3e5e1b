/** The result of one check, with advice when something is wrong. */
export interface Finding {
  /** The provider, target or source of the list. */
  readonly about: string
  readonly check: string
  readonly state: 'ok' | 'warning' | 'wrong'
  /** For programs; `OK` when nothing is wrong. */
  readonly code: string
  readonly detail: string
  readonly advice?: string
}

/** The findings about one provider, target, source or plugin. */
export class FindingList {
  readonly all: Finding[] = []

  constructor(private readonly about: string) {}

  ok(check: string, detail: string): void {
    this.all.push({ about: this.about, check, state: 'ok', code: 'OK', detail })
  }

  warning(check: string, code: string, detail: string, advice: string): void {
    this.add({ about: this.about, check, state: 'warning', code, detail, advice })
  }

  wrong(check: string, code: string, detail: string, advice: string): void {
    this.add({ about: this.about, check, state: 'wrong', code, detail, advice })
  }

  /** A repeated finding is listed once. */
  private add(finding: Finding): void {
    const known = this.all.some(({ check, code }) => check === finding.check && code === finding.code)
    if (!known) this.all.push(finding)
  }
}
