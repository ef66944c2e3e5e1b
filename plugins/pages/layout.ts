import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BrowserSession } from 'sallyport'
import { type Html, html } from 'sallyport/toolkit'

/** A whole page. `account` shows the signed-in person, or a link to sign in. */
export function page(base: string, title: string, content: Html, account?: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="${base}/assets/icon.svg">
<link rel="stylesheet" href="${base}/assets/browse.css">
<script src="${base}/assets/browse.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header><a class="home" href="${base}/">MCP registry</a>${account}</header>
<main id="content" tabindex="-1">${content}</main>
</body>
</html>
`
}

const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/**
 * Sends the headers of a page. A page with a sign-out form sends its origin to this gateway only: with `no-referrer` a
 * browser would send `Origin: null` with the form.
 */
export function withPageHeaders(reply: FastifyReply, hasSessions: boolean): FastifyReply {
  const vary = reply.getHeader('vary')
  const own = ['Authorization', 'Accept', ...(hasSessions ? ['Cookie'] : [])]
  return reply
    .header('content-security-policy', POLICY)
    .header('referrer-policy', hasSessions ? 'same-origin' : 'no-referrer')
    .header('vary', [...(vary === undefined ? [] : [String(vary)]), ...own].join(', '))
    .type('text/html; charset=utf-8')
}

/** The end of the header: the signed-in person and a button to sign out; else a link to sign in. */
export function accountView(sessions: readonly BrowserSession[], request: FastifyRequest): Html | undefined {
  const session = sessions.find((each) => each.person(request) !== undefined) ?? sessions[0]
  if (session === undefined) return undefined
  const name = session.person(request)
  if (name === undefined || request.identity === undefined) return signInLink(sessions, request)
  return html`<form class="account" method="post" action="${session.signOutPath}"><span>${name === '' ? request.identity.subject : name}</span> <button type="submit">Sign out</button></form>`
}

/** A link instead of a form: a browser applies `form-action` to the redirect to the issuer. */
export const signInLink = ([session]: readonly BrowserSession[], request: FastifyRequest): Html | undefined =>
  session && html`<a class="button" href="${session.signInPath(request.url)}">Sign in</a>`
