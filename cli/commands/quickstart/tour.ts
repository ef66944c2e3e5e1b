import { PLACES, type QuickstartSettings } from 'sallyport/presets/quickstart'
import { shellQuoted } from '../../program-name.js'

export interface TourContext extends Pick<QuickstartSettings, 'address' | 'internalAddress'> {
  /** The command that calls this program. */
  readonly program: string
  /** The file with the list that is running. */
  readonly list: string
  /** A file with the same list on other ports. */
  readonly second: string
  readonly tokens: { readonly registry: string; readonly sample: string }
}

/** A step of the tour: its description, and the command that shows it. */
export interface TourStep {
  readonly title: string
  readonly command?: string
}

/** The commands to try; each builds on the ones before. */
export function tour({
  address,
  internalAddress,
  program,
  list,
  second,
  tokens,
}: TourContext): readonly TourStep[] {
  const registry = `http://${address}${PLACES.registry}`
  const sample = `http://${address}${PLACES.sample}/mcp`
  const servers = `${registry}/registry/default/v0.1/servers?limit=1`
  return [
    {
      title: 'Without a token: 401, and in WWW-Authenticate where to get one.',
      command: curl(['-i', servers]),
    },
    {
      title: 'The metadata at that URL: whose tokens are accepted here.',
      command: curl([`http://${address}/.well-known/oauth-protected-resource${PLACES.registry}`]),
    },
    {
      title: 'With a token of the local identity provider: the list of servers.',
      command: curl([servers, '-H', bearer(tokens.registry)]),
    },
    {
      title: 'A token for another resource, the proxy beside it: 401, without a reason.',
      command: curl(['-i', servers, '-H', bearer(tokens.sample)]),
    },
    {
      title: 'As the operator of the gateway you can see why: what each provider checked.',
      command: `printf %s ${shellQuoted(tokens.sample)} | ${program} explain --config ${shellQuoted(list)}`,
    },
    {
      title:
        'A tool call through the proxy. The server gets your identity, and a credential of the gateway instead of yours.',
      command: toolCall(sample, tokens.sample),
    },
    {
      title: `An MCP client of yours: point it at ${sample}. It will ask you to sign in: any name and password will do.`,
    },
    { title: `For people: open ${registry}/ in a browser, and sign in under any name.` },
    {
      title: 'The metrics so far.',
      command: `${curl([`http://${internalAddress}/metrics`])} | grep ^sallyport_http_requests_total`,
    },
    {
      title: 'This file is the list of plugins that runs all of this.',
      command: `cat ${shellQuoted(list)}`,
    },
    {
      title: 'The same list on other ports, beside this one: `run` takes it, changed or not. Ctrl-C ends it.',
      command: `${program} run --config ${shellQuoted(second)}`,
    },
  ]
}

function toolCall(url: string, token: string): string {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } }
  return curl([
    url,
    ...['-H', bearer(token)],
    ...['-H', 'Accept: application/json, text/event-stream'],
    ...['-H', 'Content-Type: application/json'],
    ...['-d', JSON.stringify(call)],
  ])
}

const curl = (words: readonly string[]): string => ['curl -sS', ...words.map(shellQuoted)].join(' ')

const bearer = (token: string): string => `Authorization: Bearer ${token}`
