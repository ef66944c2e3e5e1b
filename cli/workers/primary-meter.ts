import type { Measure, Meter } from 'sallyport'

/** The counters of the primary, which boots no list and so has no telemetry plugin. */
export class PrimaryMeter implements Pick<Meter, 'counter'> {
  private readonly families: (() => string)[] = []

  counter(name: string, help: string): Measure {
    const full = `sallyport_${name}`
    let sum = 0
    this.families.push(() => `# HELP ${full} ${help}\n# TYPE ${full} counter\n${full} ${sum}\n`)
    return (value) => {
      sum += value
    }
  }

  text(): string {
    return this.families.map((family) => family()).join('')
  }
}
