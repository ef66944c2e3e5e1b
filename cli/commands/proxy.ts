import type { Outcome } from '../config/settings.js'
import type { Invocation } from '../options/option.js'
import { tell } from '../terminal.js'
import { proxyProblems } from './proxy-rules.js'
import type { ProxySettings } from './proxy-settings.js'
import { proxySettings } from './proxy-settings.js'

/** Stands in front of one MCP server. */
export async function proxy(invocation: Invocation): Promise<number | undefined> {
  const outcome = readProxySettings(invocation)
  if ('problems' in outcome) return tell(outcome.problems)
  return undefined
}

/** What `sallyport proxy` was told, by flags and environment. Its setting paths begin with a flag's name. */
export function readProxySettings(invocation: Invocation): Outcome<ProxySettings> {
  const { given } = invocation
  const settings = proxySettings(invocation)
  const problems = proxyProblems(settings, given)
  if (problems.length > 0) return { problems }
  const { bearerToken, headers } = settings.outgoing
  const fixed = [bearerToken, settings.incoming?.clientSecret].flatMap((secret) =>
    secret !== undefined && 'value' in secret ? [secret.value] : [],
  )
  return {
    settings,
    folder: process.cwd(),
    secrets: new Set([...fixed, ...headers.map(({ value }) => value)]),
    locate: ([flag = '']) => given.get(String(flag))?.place ?? `--${flag}`,
  }
}
