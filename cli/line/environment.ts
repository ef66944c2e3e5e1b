import type { Option } from './option.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** The environment variables of an option, in the order in which they are read. */
export function environmentNames(option: Option): readonly string[] {
  if (option.flagOnly === true) return []
  const own = `SALLYPORT_${option.name.toUpperCase().replaceAll('-', '_')}`
  return [own, ...(option.env ?? [])]
}

/** The first of the option's variables that is set, also to an empty value. */
export function variableOf(
  option: Option,
  environment: Environment,
): { readonly name: string; readonly text: string } | undefined {
  for (const name of environmentNames(option)) {
    const text = environment[name]
    if (text !== undefined && !isServiceLink(option, text)) return { name, text }
  }
  return undefined
}

// Kubernetes sets SALLYPORT_PORT=tcp://10.0.0.1:80 in every pod beside a Service named `sallyport`.
function isServiceLink(option: Option, text: string): boolean {
  return option.type === 'port' && /^(?:tcp|udp|sctp):\/\//.test(text)
}
