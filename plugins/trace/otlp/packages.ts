import { ConfigError } from 'sallyport'

export interface Packages {
  readonly api: typeof import('@opentelemetry/api')
  readonly resources: typeof import('@opentelemetry/resources')
  readonly sdk: typeof import('@opentelemetry/sdk-trace-base')
  readonly exporter: typeof import('@opentelemetry/exporter-trace-otlp-http')
}

/** The packages of OpenTelemetry are optional: only a list that exports traces loads them. */
export async function loadPackages(): Promise<Packages> {
  try {
    return await loadAll()
  } catch (cause) {
    const code = codeOf(cause)
    const reason = code === 'ERR_MODULE_NOT_FOUND' ? 'are not installed' : `could not be loaded (${code})`
    const message = `the packages that export traces ${reason}: \`${COMMAND}\``
    throw new ConfigError([{ place: '@opentelemetry', message }], { cause })
  }
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.name) : 'unknown'

const COMMAND =
  'npm install @opentelemetry/api@1.9 @opentelemetry/resources@2 @opentelemetry/sdk-trace-base@2 @opentelemetry/exporter-trace-otlp-http@0.223'

async function loadAll(): Promise<Packages> {
  const [api, resources, sdk, exporter] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ])
  return { api, resources, sdk, exporter }
}
