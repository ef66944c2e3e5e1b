import {
  definePlugin,
  HeaderSource,
  headerName,
  type Identity,
  isHeaderValue,
  type OutgoingHeaders,
} from 'sallyport'
import { z } from 'zod'
import { refuseRepeats } from './names.js'

export default definePlugin({
  name: 'headers/identity',
  api: 1,
  summary: 'Tells the target who the verified caller is, in headers that no caller can set.',
  provides: [HeaderSource],
  options: z.strictObject({
    headers: z
      .array(
        z.strictObject({
          name: headerName().describe('the name of the header'),
          claim: z
            .string()
            .min(1)
            .describe('the claim that is its value; a list of texts is joined by spaces'),
        }),
      )
      .min(1)
      .superRefine(refuseRepeats)
      .describe(
        "claims to send; the caller's own headers of these names are removed, also when there is no claim",
      ),
  }),

  setup(gateway, { headers }) {
    gateway.provide(HeaderSource, {
      names: headers.map(({ name }) => name),
      headers({ identity }) {
        if (identity === undefined) return []
        const told: OutgoingHeaders[number][] = []
        for (const { name, claim } of headers) {
          const value = claimText(identity, claim)
          if (value !== undefined) told.push([name, value])
        }
        return told
      },
    })
  },
})

/** A claim as a header can hold it, in UTF-8. What cannot be told exactly is not told. */
function claimText({ claims }: Identity, claim: string): string | undefined {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined
  const text = Array.isArray(value) && value.every(isText) ? value.join(' ') : scalar(value)
  if (text === undefined) return undefined
  const bytes = Buffer.from(text).toString('latin1')
  return isHeaderValue(bytes) ? bytes : undefined
}

const isText = (value: unknown): value is string => typeof value === 'string' && !value.includes(' ')

const scalar = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined
