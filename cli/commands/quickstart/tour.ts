import { PLACES, type QuickstartSettings } from 'sallyport/presets/quickstart'
import { quoted } from './own-name.js'

/** What the tour speaks of. */
export interface Sights extends Pick<QuickstartSettings, 'address' | 'internalAddress'> {
  /** How to call this program. */
  readonly program: string
  /** The file with the list that is running. */
  readonly list: string
  readonly tokens: { readonly registry: string; readonly sample: string }
}

/** A stop of the tour: what is to be seen, and the command that shows it. */
export interface Stop {
  readonly title: string
  readonly command?: string
}

/** What can be tried, in the order in which it explains itself. */
export function tour({ address, internalAddress, program, list, tokens }: Sights): readonly Stop[] {
  const registry = `http://${address}${PLACES.registry}`
  const sample = `http://${address}${PLACES.sample}/mcp`
  const servers = `${registry}/registry/default/v0.1/servers?limit=1`
  return [
    {
      title: 'Without a token: 401, and the way to one in WWW-Authenticate.',
      command: curl(['-i', servers]),
    },
    {
      title: 'Where that way leads: whose tokens are good here.',
      command: curl([`http://${address}/.well-known/oauth-protected-resource${PLACES.registry}`]),
    },
    {
      title: 'With a token of the local identity provider: the list of servers.',
      command: curl([servers, '-H', bearer(tokens.registry)]),
    },
    {
      title:
        'A token that was made for another resource, the proxy beside it: 401, and not a word about why.',
      command: curl(['-i', servers, '-H', bearer(tokens.sample)]),
    },
    {
      title: 'You run the gateway, so you may know why: what each of the two says of it.',
      command: `printf %s ${quoted(tokens.sample)} | ${program} explain --config ${quoted(list)}`,
    },
    {
      title:
        'A tool call through the proxy. The server learns who you are, and sees a credential of the gateway in place of yours.',
      command: toolCall(sample, tokens.sample),
    },
    {
      title: `An MCP client of yours: point it at ${sample}. It will want you to sign in: any name and password will do.`,
    },
    { title: `For people: open ${registry}/ in a browser.` },
    {
      title: 'What was counted so far.',
      command: `${curl([`http://${internalAddress}/metrics`])} | grep ^sallyport_http_requests_total`,
    },
    {
      title: 'All of this is one list of plugins, and this file is it. `run` takes it, changed or not.',
      command: `cat ${quoted(list)}`,
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

const curl = (words: readonly string[]): string => ['curl -sS', ...words.map(quoted)].join(' ')

const bearer = (token: string): string => `Authorization: Bearer ${token}`
