import type Provider from 'oidc-provider'
import type { PageContext } from 'oidc-provider'

// The package's own pages take a font from another host, and a client may name a picture anywhere.
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
const FOREIGN_STYLE = /@import url\([^)]*\);/g

/** Keeps the pages for signing in from loading anything, and names the client on them. */
export function adaptPages(provider: Provider): void {
  provider.use(async (context, next) => {
    await next()
    const { body } = context
    if (context.type !== 'text/html' || typeof body !== 'string') return
    const name = await clientName(provider, context)
    context.set('content-security-policy', POLICY)
    const named =
      name === undefined ? body : body.replace('</h1>', () => `</h1><p>Client: ${escaped(name)}</p>`)
    context.body = named.replace(FOREIGN_STYLE, '')
  })
}

async function clientName(provider: Provider, context: PageContext): Promise<string | undefined> {
  const isInteraction = context.path.startsWith('/interaction/') && context.status === 200
  if (!isInteraction) return undefined
  const { params } = await provider.interactionDetails(context.req, context.res)
  const client = await provider.Client.find(params.client_id)
  return client?.clientName ?? client?.clientId
}

// A client chooses its name when it registers itself.
const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
