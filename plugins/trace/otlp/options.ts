import { insecureHttpAllowed, isInsecure, PLAIN_HTTP_RULE, secretHeaders, webUrl } from 'sallyport/toolkit'
import { z } from 'zod'

const fields = {
  url: webUrl()
    .refine((text) => !/[?#]|^[^/]*\/\/[^/]*@/.test(text), 'expected a URL without user, query and fragment')
    .refine(
      (text) => !URL.canParse(text) || new URL(text).pathname !== '/',
      'expected a URL with a path, by default /v1/traces',
    )
    .describe('where the collector takes traces, with the path: `http://127.0.0.1:4318/v1/traces`'),
  sample: z
    .number()
    .min(0)
    .max(1)
    .default(0.05)
    .describe('the share of traces that begin here which is exported, from 0 to 1'),
  followParent: z
    .boolean()
    .default(true)
    .describe(
      "continue the caller's trace, and export it if the caller does; `false`: every request begins a trace, linked to the caller's",
    ),
  serviceName: z.string().min(1).default('sallyport').describe('the `service.name` of all spans'),
  intoMeta: z
    .boolean()
    .default(false)
    .describe('also write the trace context into the `_meta` of each call, which changes the body'),
  headers: secretHeaders().describe('sent with every export, such as an API key'),
  bearerTokenFile: z.string().optional().describe('a file with a token that is sent with every export'),
  caCertPath: z
    .string()
    .optional()
    .describe('certificate authorities to trust for the collector, instead of the default ones'),
}

export const otlpOptions = z.strictObject(fields).superRefine(checkTogether)

export type OtlpOptions = z.output<typeof otlpOptions>

// The exporter reads these variables itself, and would send their headers to `url`.
const EXPORTER_VARIABLES = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS']

/** Checks options that depend on each other, and on the environment. */
function checkTogether(options: z.output<z.ZodObject<typeof fields>>, context: z.core.$RefinementCtx): void {
  const { url, headers, bearerTokenFile } = options
  const report = (path: string[], message: string) =>
    context.issues.push({ code: 'custom', input: undefined, path, message, continue: true })

  const hasSecret = bearerTokenFile !== undefined || Object.keys(headers).length > 0
  if (hasSecret && URL.canParse(url) && isInsecure(new URL(url)) && !insecureHttpAllowed())
    report(['url'], `the headers would cross a network in plain text: expected https; ${PLAIN_HTTP_RULE}`)
  for (const name of EXPORTER_VARIABLES) {
    if ((process.env[name] ?? '').trim() !== '')
      report(
        ['headers'],
        `the exporter would also send the headers in the variable ${name}: unset it, and write them here`,
      )
  }
}
