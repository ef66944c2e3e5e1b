import type { FastifyRequest } from 'fastify'
import type { BrowserSession } from 'sallyport'
import { type Html, html } from 'sallyport/toolkit'

/** The header's end: who is signed in, and a button to sign out; else where to sign in. */
export function accountView(sessions: readonly BrowserSession[], request: FastifyRequest): Html | undefined {
  const session = sessions.find((each) => each.person(request) !== undefined) ?? sessions[0]
  if (session === undefined) return undefined
  const name = session.person(request)
  if (name === undefined || request.identity === undefined) return signInLink(sessions, request)
  return html`<form class="account" method="post" action="${session.signOutPath}"><span>${name === '' ? request.identity.subject : name}</span> <button type="submit">Sign out</button></form>`
}

/** A link and no form: the browser would hold the redirect to the issuer against `form-action`. */
export const signInLink = ([session]: readonly BrowserSession[], request: FastifyRequest): Html | undefined =>
  session && html`<a class="button" href="${session.signInPath(request.url)}">Sign in</a>`
