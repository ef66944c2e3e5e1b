import { resolve } from 'node:path'
import type { Dispatch, Gateway, List, Problem } from 'sallyport'
import { catalogueOn } from 'sallyport/builtin'
import { LogScrubber } from 'sallyport/embed'
import { client, ProxySettings } from 'sallyport/presets/proxy'
import { flagOf, keyOf } from '#plugins/presets/settings/setting.js'
import { resolveSettings } from '../../config/resolve-settings.js'
import { type Located, mapped, type Result } from '../../config/result.js'
import { withBooted } from '../../config/with-booted.js'
import { createRunLog, type Io } from '../../io.js'
import type { ResolvedOptions } from '../../line/option.js'
import { connectionFlags, SIGN_IN_TIMEOUT, signInFlags } from './flags.js'

/** The list that sends requests to the registry: the outgoing part of a proxy, with a login or the token of a file. */
export function connectionTo(
  registry: URL,
  tokenFile: string | undefined,
  options: ResolvedOptions,
): Result<List> {
  const signsIn = tokenFile === undefined
  const flags = [...(signsIn ? signInFlags : []), ...connectionFlags]
  const given = flags.flatMap(({ name, secret }) => {
    const resolved = options.get(name)
    return resolved === undefined || resolved.source === 'default'
      ? []
      : [{ ...resolved, secret, key: keyOf(name) }]
  })
  const places = new Map([
    ['targetUri', '--registry'],
    ['remoteAuthBearerTokenFile', '--token-file'],
    ...given.map(({ key, place }) => [key, place] as const),
  ])
  const written = {
    value: {
      targetUri: registry.href,
      ...(signsIn
        ? { remoteAuth: true, remoteAuthTimeout: SIGN_IN_TIMEOUT }
        : { remoteAuthBearerTokenFile: tokenFile }),
      ...Object.fromEntries(given.map(({ key, value }) => [key, value])),
    },
    folder: resolve('.'),
    secrets: new Set(
      given.flatMap(({ secret, value }) => (secret === true && typeof value === 'string' ? [value] : [])),
    ),
    locate: ([key = '']: readonly (string | number)[]) => places.get(String(key)) ?? flagOf(String(key)),
  }
  return mapped(resolveSettings(ProxySettings, written, signsIn ? [] : unusedFlagProblems(options)), client)
}

// Only flags: a variable may be set for another program.
const unusedFlagProblems = (options: ResolvedOptions): Problem[] =>
  signInFlags.flatMap(({ name }) => {
    const message = 'cannot be combined with --token-file: expected a login or a token'
    return options.get(name)?.source === 'flag' ? [{ place: `--${name}`, message }] : []
  })

/** Boots the list of a connection, and stops it when `work` is done. The scrubber knows the tokens until then. */
export function connected<T>(
  { settings, folder, locate, secrets }: Located<List>,
  io: Io,
  debug: boolean,
  work: (dispatch: Dispatch, scrubber: LogScrubber) => Promise<T>,
): Promise<T> {
  const scrubber = new LogScrubber()
  for (const secret of secrets) scrubber.add(secret)
  // Not logged: the command prints the answers, which hold the failures.
  const log = createRunLog(io, { level: debug ? 'debug' : 'silent', scrubber })
  const context = { catalogue: catalogueOn(io), folder, locate, log, scrubber }
  const reader = { name: 'publish', read: ({ dispatch }: Gateway) => dispatch }
  return withBooted(
    (entry) => [entry, ...settings],
    reader,
    context,
    ([dispatch]) => work(dispatch, scrubber),
  )
}
