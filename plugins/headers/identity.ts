import { definePlugin, HeaderSource, type Identity, type OutgoingHeaders } from 'sallyport'
import { headerName, isHeaderValue } from 'sallyport/toolkit'
import { z } from 'zod'
import { refuseDuplicates } from './names.js'

export default definePlugin({
  name: 'headers/identity',
  api: 1,
  summary: 'Sends claims of the authenticated caller to the target, in headers that no caller can set.',
  provides: [HeaderSource],
  options: z.strictObject({
    headers: z
      .array(
        z.strictObject({
          name: headerName().describe('the name of the header'),
          claim: z
            .string()
            .min(1)
            .describe('the claim that is its value; a list of strings is joined by spaces'),
        }),
      )
      .min(1)
      .superRefine(refuseDuplicates)
      .describe(
        "claims to send; the gateway removes the caller's own headers of these names, also when a claim is missing",
      ),
  }),

  setup(gateway, { headers }) {
    gateway.provide(HeaderSource, {
      names: headers.map(({ name }) => name),
      headers({ identity }) {
        if (identity === undefined) return []
        const sent: OutgoingHeaders[number][] = []
        for (const { name, claim } of headers) {
          const value = claimValue(identity, claim)
          if (value !== undefined) sent.push([name, value])
        }
        return sent
      },
    })
  },
})

/** A claim as a header value, in UTF-8. Only strings, numbers, booleans and lists of strings are sent. */
function claimValue({ claims }: Identity, claim: string): string | undefined {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined
  const text = Array.isArray(value) && value.every(isText) ? value.join(' ') : scalar(value)
  if (text === undefined || WHITE_AT_END.test(text)) return undefined
  const bytes = Buffer.from(text).toString('latin1')
  return isHeaderValue(bytes) ? bytes : undefined
}

// Targets split at any white space: one group with a space would become two. Unicode counts U+0085 as white space,
// JavaScript does not.
const isText = (value: unknown): value is string => typeof value === 'string' && !/[\s\u0085]/.test(value)

// Targets trim any white space: two names that differ by it would become one.
const WHITE_AT_END = /^[\s\u0085]|[\s\u0085]$/

const scalar = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined
