import { html } from 'hono/html'
import { type Described, webLink } from './described.js'
import { type Snippet, type Way, waysOf } from './install.js'
import type { Html } from './layout.js'

/** A registry as the first page tells of it. */
export interface RegistryCard {
  readonly name: string
  readonly url: string
}

export const homeView = (base: string, cards: readonly RegistryCard[], hidden: boolean): Html => html`
<h1>Registries</h1>
${
  cards.length > 0 &&
  html`<ul class="cards">
${cards.map(({ name, url }) => html`<li><a href="${url}"><strong>${name}</strong></a></li>`)}
</ul>`
}
${hidden && signInHint(base, cards.length > 0)}`

const signInHint = (base: string, some: boolean): Html => html`<section class="hint">
<h2>${some ? 'There may be more' : 'Sign in to read'}</h2>
<p>${some ? 'Further registries are' : 'This registry is'} shown to callers with an access token.
Your MCP client finds out by itself where to get one, from the
<a href="/.well-known/oauth-protected-resource${base}">metadata of this resource</a>.</p>
<p>By hand, send the token in a header:</p>
<pre><code>curl -H 'Authorization: Bearer TOKEN' ${'https://THIS-HOST'}${base}/registry/NAME/v0.1/servers</code></pre>
</section>`

export interface ListFacts {
  readonly registry: string
  /** The path of this page. */
  readonly url: string
  readonly search: string
  readonly servers: readonly Described[]
  readonly next: string | undefined
}

export const listView = ({ registry, url, search, servers, next }: ListFacts): Html => html`
<h1>${registry}</h1>
<form class="search" role="search" action="${url}" method="get">
<label for="search">Search by name</label>
<input id="search" name="search" type="search" value="${search}" maxlength="200" autocomplete="off">
<button type="submit">Search</button>
</form>
${servers.length === 0 ? html`<p>No server ${search === '' ? 'is here yet' : 'has such a name'}.</p>` : ''}
<ul class="cards">${servers.map((server) => card(url, server))}</ul>
${next !== undefined && html`<nav aria-label="Pages"><a rel="next" href="${next}">Next page</a></nav>`}`

const card = (url: string, server: Described): Html => html`<li>
<a href="${url}/servers/${encodeURIComponent(server.name)}"><strong>${server.title ?? server.name}</strong></a>
${badge(server.status)}
<p class="quiet">${server.name} · ${server.version}</p>
<p>${server.description}</p>
</li>`

const badge = (status: string): Html | '' =>
  status === 'active' ? '' : html`<span class="badge">${status}</span>`

export interface ServerFacts {
  readonly registry: string
  /** The path of the registry's page. */
  readonly url: string
  readonly server: Described
  readonly versions: readonly { readonly version: string; readonly isLatest: boolean }[]
}

export function serverView({ registry, url, server, versions }: ServerFacts): Html {
  const own = `${url}/servers/${encodeURIComponent(server.name)}`
  const ways = waysOf(server)
  return html`
<nav aria-label="Path"><a href="${url}">${registry}</a></nav>
<h1>${server.title ?? server.name}</h1>
<p class="quiet">${server.name} · ${server.version}${server.isLatest ? ' · latest' : ''} ${badge(server.status)}</p>
${server.statusMessage !== undefined && html`<p>${server.statusMessage}</p>`}
<p>${server.description}</p>
<ul class="links">${[
    link('Website', server.websiteUrl),
    link('Source code', server.repository?.url),
  ]}<li><a href="${url}/v0.1/servers/${encodeURIComponent(server.name)}/versions/${encodeURIComponent(server.version)}">JSON</a></li></ul>
<h2>Install</h2>
${ways.length === 0 ? html`<p>Its document tells no way that these clients know; the JSON has all of it.</p>` : ''}
${ways.map((way, index) => wayView(way, index))}
<h2>Versions</h2>
<ul class="versions">${versions.map(
    ({ version, isLatest }) =>
      html`<li><a href="${own}/${encodeURIComponent(version)}"${
        version === server.version ? html` aria-current="page"` : ''
      }>${version}</a>${isLatest ? ' latest' : ''}</li>`,
  )}</ul>`
}

function link(title: string, url: string | undefined): Html | '' {
  const safe = webLink(url)
  return safe === undefined
    ? ''
    : html`<li><a href="${safe}" rel="noopener noreferrer nofollow">${title}</a></li>`
}

const wayView = ({ title, snippets }: Way, index: number): Html => html`<section>
<h3>${title}</h3>
${snippets.map((snippet, at) => snippetView(snippet, `snippet-${index}-${at}`))}
</section>`

const snippetView = ({ client, place, text }: Snippet, id: string): Html => html`<details${
  id.endsWith('-0') ? html` open` : ''
}>
<summary>${client} <span class="quiet">${place}</span></summary>
<div class="snippet"><button type="button" class="copy" data-copy="${id}" hidden aria-label="Copy for ${client}">Copy</button>
<pre id="${id}" tabindex="0"><code>${text}</code></pre></div>
</details>`

export const missingView = (): Html => html`<h1>Not here</h1>
<p>There is no such registry, server or version.</p>`

export const loadingView = (registry: string): Html => html`<h1>${registry}</h1>
<p>This registry is being loaded. Try again in a moment.</p>`
