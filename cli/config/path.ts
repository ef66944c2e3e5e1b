/** A place in a configuration: keys and indexes from its root. */
export type Path = readonly (string | number)[]

/** A path as a person reads it: `auth.oauth.providers[0].audience`. */
export function pathText(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    if (!/^[A-Za-z_][\w-]*$/.test(step)) return `${text}[${JSON.stringify(step)}]`
    return text === '' ? step : `${text}.${step}`
  }, '')
}

/** A value that is a mapping, by the only test that parsed YAML and JSON need. */
export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
