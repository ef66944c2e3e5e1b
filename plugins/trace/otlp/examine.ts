import { type Examination, GatewayError, UpstreamError } from 'sallyport'
import { createFetcher } from 'sallyport/toolkit'
import type { OtlpOptions } from './options.js'
import { loadPackages } from './packages.js'

const CHECK = 'collector'
const CODE = 'TRACES_NOT_TAKEN'
const START_IT = 'start the collector, or check `url`: until it takes OTLP over HTTP there, spans are lost'
const CHECK_FILES = 'install the packages of OpenTelemetry, and check `bearerTokenFile` and `caCertPath`'

/** Sends an export without spans, and reports the response. */
export async function examineCollector(examination: Examination, options: OtlpOptions): Promise<void> {
  const { ok, warning, wrong, path, probes } = examination
  const { url, headers, bearerTokenFile, caCertPath } = options
  const caFile = path(caCertPath)
  try {
    await loadPackages()
    if (!(await probes.reach(url, { caFile, direct: true, closedAdvice: START_IT }))) return
    const bearer = bearerTokenFile === undefined ? undefined : { file: path(bearerTokenFile), to: [url] }
    // An empty environment, so that no proxy is used: the exporter uses none either.
    const rules = { allowPrivate: true, allowInsecureHttp: true, environment: {} }
    const fetcher = createFetcher({ ...rules, caFile, bearer })
    try {
      const { status } = await fetcher.fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{"resourceSpans":[]}',
      })
      if (status >= 200 && status < 300) ok(CHECK, `it takes traces (${status})`)
      else warning(CHECK, CODE, `it responds to an empty export with ${status}`, adviceFor(status))
    } finally {
      await fetcher.close()
    }
  } catch (error) {
    if (error instanceof UpstreamError) warning(CHECK, CODE, error.message, START_IT)
    else if (error instanceof GatewayError) wrong(CHECK, CODE, error.message, CHECK_FILES)
    else throw error
  }
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403) return 'check `headers` and `bearerTokenFile`'
  return 'check the path in `url`, by default /v1/traces, and that the collector takes OTLP over HTTP, as JSON'
}
