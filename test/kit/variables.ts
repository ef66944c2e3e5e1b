import type { TestContext } from 'node:test'

/** These variables of this process until the test ends; one without a value is unset. */
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
