import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { type Html, html } from 'sallyport/toolkit'
import type { Failure } from '#plugins/login/flow/failures.js'

// Nothing in it is a character that `html` escapes.
const STYLE = `:root { color-scheme: light dark; --line: color-mix(in srgb, CanvasText 18%, Canvas);
  --soft: color-mix(in srgb, CanvasText 6%, Canvas); --quiet: color-mix(in srgb, CanvasText 68%, Canvas);
  --accent: light-dark(#0b57d0, #8ab4f8) }
* { box-sizing: border-box }
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; background: Canvas; color: CanvasText;
  overflow-wrap: anywhere }
main { max-width: 34rem; margin: 8vh auto; padding: 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem }
dl { margin: 1.25rem 0; display: grid; gap: .75rem }
dt { color: var(--quiet); font-size: .875rem }
dd { margin: 0 }
ul { margin: 0; padding-left: 1.25rem }
form { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem }
button { font: inherit; padding: .6rem 1.4rem; border: 1px solid var(--line); border-radius: .4rem; cursor: pointer;
  background: var(--soft); color: inherit; flex: 1 1 8rem }
button.main { background: var(--accent); border-color: var(--accent); color: Canvas }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.quiet { color: var(--quiet); font-size: .875rem }
`

// No `form-action`: browsers hold the redirect to the client, which follows the form, against it.
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; frame-ancestors 'none'`

/** Sends a page that no other site may frame and no cache may store. */
export function sendPage(reply: FastifyReply, status: number, title: string, content: Html): FastifyReply {
  return reply
    .code(status)
    .header('content-security-policy', POLICY)
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'no-referrer')
    .header('x-content-type-options', 'nosniff')
    .type('text/html; charset=utf-8')
    .send(
      String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body><main>${content}</main></body>
</html>
`),
    )
}

/** What a person decides about. */
export interface ConsentView {
  /** The host of the client, or what it is otherwise. */
  readonly host: string
  /** What the client calls itself. */
  readonly name: string | undefined
  readonly redirectUri: string
  readonly person: string
  readonly provider: string
  readonly resource: string
  readonly scopes: readonly string[]
  readonly action: string
  readonly token: string
}

export const consentView = (
  view: ConsentView,
): Html => html`<h1>Allow ${view.host} to use ${new URL(view.resource).host} as you?</h1>
<dl>
${view.name !== undefined && html`<div><dt>It calls itself</dt><dd>${view.name}</dd></div>`}
<div><dt>You are signed in as</dt><dd>${view.person}, at ${view.provider}</dd></div>
<div><dt>It may use</dt><dd>${view.resource}</dd></div>
${
  view.scopes.length > 0 &&
  html`<div><dt>With these scopes</dt><dd><ul>${view.scopes.map((scope) => html`<li>${scope}</li>`)}</ul></dd></div>`
}
<div><dt>The answer goes to</dt><dd>${view.redirectUri}</dd></div>
</dl>
<p class="quiet">Allow it only if you have just started it yourself.</p>
<form method="post" action="${view.action}">
<input type="hidden" name="token" value="${view.token}">
<button class="main" name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button>
</form>`

/** A person whom the provider knows and the operator does not admit. */
export const turnedAwayView = (
  person: string,
  form: { readonly action: string; readonly token: string } | undefined,
): Html => html`<h1>You may not use this server</h1>
<p>You are signed in as ${person}, and the operator of this server does not admit this account.</p>
<p>Ask the operator, or sign out of the identity provider and sign in with another account.</p>
${
  form !== undefined &&
  html`<form method="post" action="${form.action}">
<input type="hidden" name="token" value="${form.token}">
<button class="main" name="decision" value="deny">Back to the program</button>
</form>`
}`

export const failureView = (
  { status, code, sentence, advice }: Failure,
  requestId: string,
): Html => html`<h1>You are not signed in</h1>
<p>${sentence}.</p>
<p>${advice}</p>
<p class="quiet">Status ${status}, <code>${code}</code>, request ${requestId}</p>`
