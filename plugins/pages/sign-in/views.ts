import { type Html, html } from 'sallyport/toolkit'
import type { Failure } from './failures.js'

export const failureView = (
  { status, code, sentence, advice }: Failure,
  again: string,
  requestId: string,
): Html => html`<h1>You are not signed in</h1>
<p>${sentence}.</p>
<p>${advice}</p>
<p><a href="${again}">Try again</a></p>
<p class="quiet">Status ${status}, <code>${code}</code>, request ${requestId}</p>`

export const signedOutView = (
  again: string,
  issuer: string,
  endSession: string | undefined,
): Html => html`<h1>You are signed out</h1>
${
  endSession !== undefined &&
  html`<p>You may still be signed in at ${issuer}: <a href="${endSession}" rel="noreferrer">sign out there too</a>.</p>`
}
<p><a href="${again}">Sign in</a></p>`
