import type { ServerVersion } from 'sallyport'
import { type Html, html } from 'sallyport/toolkit'
import { type Access, accessView } from './access.js'
import { actorView, dateView, type History, historyView } from './history.js'
import { type InstallMethod, installMethodsOf, type Snippet } from './install.js'
import { type ServerDetails, type ServerSummary, webLink } from './server-details.js'

/** A registry on the home page. */
export interface RegistryCard {
  readonly name: string
  readonly url: string
}

export const homeView = (cards: readonly RegistryCard[], access: Access | undefined): Html => html`
<h1>Registries</h1>
${
  cards.length > 0 &&
  html`<ul class="cards">
${cards.map(({ name, url }) => html`<li><a href="${url}"><strong>${name}</strong></a></li>`)}
</ul>`
}
${access !== undefined && cards.length > 0 && html`<p>There may be more for callers with an access token.</p>`}
${access !== undefined && accessView(access)}`

export interface ListProps {
  readonly registry: string
  /** The path of this page. */
  readonly url: string
  readonly search: string
  /** The number of servers in the registry. */
  readonly count: number
  readonly servers: readonly ServerSummary[]
  readonly next: string | undefined
}

export const listView = ({ registry, url, search, count, servers, next }: ListProps): Html => html`
<h1>${registry}</h1>
<p class="quiet">${count === 1 ? '1 server' : `${count} servers`}</p>
<form class="search" role="search" action="${url}" method="get">
<label for="search">Search names, titles and descriptions</label>
<input id="search" name="search" type="search" value="${search}" maxlength="200" autocomplete="off">
<button type="submit">Search</button>
</form>
${servers.length === 0 ? html`<p>No server ${search === '' ? 'is here yet' : 'matches'}.</p>` : ''}
<ul class="cards">${servers.map((server) => card(url, server))}</ul>
${next !== undefined && html`<nav aria-label="Pages"><a rel="next" href="${next}">Next page</a></nav>`}`

const card = (url: string, server: ServerSummary): Html => html`<li>
<a href="${url}/servers/${encodeURIComponent(server.name)}"><strong>${server.title ?? server.name}</strong></a>
${badge(server.status)}
<p class="quiet">${server.name} · ${server.version}</p>
<p>${server.description}</p>
</li>`

const badge = (status: string): Html | '' =>
  status === 'active' ? '' : html`<span class="badge">${status}</span>`

export interface ServerProps {
  readonly registry: string
  /** The path of the registry's page. */
  readonly url: string
  readonly server: ServerDetails
  readonly versions: readonly Pick<ServerVersion, 'version' | 'isLatest' | 'status'>[]
  readonly history: History
}

export function serverView({ registry, url, server, versions, history }: ServerProps): Html {
  const own = `${url}/servers/${encodeURIComponent(server.name)}`
  const json = `${url}/v0.1/servers/${encodeURIComponent(server.name)}`
  const methods = installMethodsOf(server)
  return html`
<nav aria-label="Path"><a href="${url}">${registry}</a></nav>
<h1>${server.title ?? server.name}</h1>
<p class="quiet">${server.name} · ${server.version}${server.isLatest ? ' · latest' : ''} ${badge(server.status)}</p>
${server.statusMessage !== undefined && html`<p class="hint"><bdi>${server.statusMessage}</bdi></p>`}
${published(server, history)}
<p>${server.description}</p>
<ul class="links">${[
    link('Website', server.websiteUrl),
    link('Source code', server.repository?.url),
  ]}<li><a href="${json}/versions/${encodeURIComponent(server.version)}">JSON</a></li></ul>
<h2>Install</h2>
${methods.map((method, index) => methodView(method, index))}
${unshown(server, methods)}
<h2>Versions</h2>
<ul class="versions">${versions
    .slice(0, MOST_VERSIONS)
    .map(
      ({ version, isLatest, status }) =>
        html`<li><a href="${own}/${encodeURIComponent(version)}"${
          version === server.version ? html` aria-current="page"` : ''
        }>${version}</a>${isLatest ? ' latest' : ''} ${badge(status)}</li>`,
    )}</ul>
${versions.length > MOST_VERSIONS && html`<p class="quiet">These are the newest ${MOST_VERSIONS} of ${versions.length}; the <a href="${json}/versions">JSON</a> has all of them.</p>`}
${historyView(history)}`
}

const MOST_VERSIONS = 100

function unshown({ packages = [], remotes = [] }: ServerDetails, shown: readonly InstallMethod[]): Html | '' {
  if (shown.length === 0)
    return html`<p>These clients support no way to install it that its document has; the JSON has the whole document.</p>`
  if (shown.length === packages.length + remotes.length) return ''
  return html`<p class="quiet">Its document has further ways, which clients do not support or which are too long to be shown here; the JSON has them.</p>`
}

function published({ publishedAt, updatedAt }: ServerDetails, history: History): Html | '' {
  const by = typeof history === 'string' ? undefined : history.publisher
  const at = dateView(publishedAt)
  const changed = updatedAt === publishedAt ? '' : dateView(updatedAt)
  const isPublished = at !== '' || by !== undefined
  if (!isPublished && changed === '') return ''
  const first = html`Published ${at}${by !== undefined && html` by ${actorView(by)}`}`
  return html`<p class="quiet">${isPublished && first}${isPublished && changed !== '' && ' · '}${
    changed !== '' && html`${isPublished ? 'changed' : 'Changed'} ${changed}`
  }</p>`
}

/** The page of a withdrawn server or version, without install snippets. */
export const deletedView = ({ registry, url, server, history }: Omit<ServerProps, 'versions'>): Html => html`
<nav aria-label="Path"><a href="${url}">${registry}</a></nav>
<h1>${server.name}</h1>
<p class="quiet">${server.version} ${badge(server.status)}</p>
${server.statusMessage !== undefined && html`<p class="hint"><bdi>${server.statusMessage}</bdi></p>`}
${published(server, history)}
<p>This version was withdrawn and is not to be used.</p>
${historyView(history)}`

// Some browsers refuse longer URLs.
const LONGEST_LINK = 2_000

function link(title: string, url: string | undefined): Html | '' {
  const safe = url !== undefined && url.length > LONGEST_LINK ? undefined : webLink(url)
  return safe === undefined
    ? ''
    : html`<li><a href="${safe}" rel="noopener noreferrer nofollow">${title}</a></li>`
}

const methodView = ({ title, snippets, links, fields }: InstallMethod, index: number): Html => html`<section>
<h3>${title}</h3>
${
  links.length > 0 &&
  html`<p class="links">${links.map(({ client, href }) => html`<a href="${href}">Install in ${client}</a> `)}</p>`
}
${
  fields.length > 0 &&
  html`<ul>${fields.map(({ name, description }) => html`<li><code>${name}</code> ${description ?? ''}</li>`)}</ul>`
}
${snippets.map((snippet, at) => snippetView(snippet, `snippet-${index}-${at}`))}
</section>`

const snippetView = ({ client, file, text }: Snippet, id: string): Html => html`<details${
  id.endsWith('-0') ? html` open` : ''
}>
<summary>${client} <span class="quiet">${file}</span></summary>
<div class="snippet"><button type="button" class="copy" data-copy="${id}" hidden aria-label="Copy for ${client}">Copy</button>
<pre id="${id}" tabindex="0"><code>${text}</code></pre></div>
</details>`

export const missingView = (): Html => html`<h1>Not found</h1>
<p>There is no such registry, server or version.</p>`

export const loadingView = (registry: string): Html => html`<h1>${registry}</h1>
<p>This registry is being loaded. Try again in a moment.</p>`
