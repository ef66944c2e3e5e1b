import type { TestContext } from 'node:test'

/** Sets variables of this process until the test ends; `undefined` unsets one. */
export function variables(t: TestContext, values: Readonly<Record<string, string | undefined>>): void {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const)
  for (const [name, value] of Object.entries(values)) set(name, value)
  t.after(() => {
    for (const [name, value] of before) set(name, value)
  })
}

function set(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}

/** The variables of all runs in this process: plugins read them in `process.env`. */
export const runVariables = {
  originals: new Map<string, string | undefined>(),
  runs: new Set<Readonly<Record<string, string>>>(),

  begin(values: Readonly<Record<string, string>>): void {
    for (const name of Object.keys(values))
      if (!this.originals.has(name)) this.originals.set(name, process.env[name])
    this.runs.add(values)
    this.apply()
  },

  end(values: Readonly<Record<string, string>>): void {
    this.runs.delete(values)
    this.apply()
    if (this.runs.size === 0) this.originals.clear()
  },

  apply(): void {
    for (const [name, value] of this.originals) set(name, value)
    for (const values of this.runs) for (const [name, value] of Object.entries(values)) set(name, value)
  },
}
