const OPEN_METRICS = /^application\/openmetrics-text$/
const TEXT = /^(?:text\/(?:plain|\*)|\*\/\*)$/

/** Whether a scraper takes OpenMetrics 1.0.0, and likes the text format no better. */
export function prefersOpenMetrics(accept = ''): boolean {
  const ranges = accept.split(',').map(readRange)
  const best = (type: RegExp): number =>
    Math.max(0, ...ranges.filter((range) => type.test(range.type)).map(({ weight }) => weight))
  const wanted = best(OPEN_METRICS)
  return wanted > 0 && wanted >= best(TEXT)
}

/** A media range and its weight (RFC 9110, section 12.5.1): none for another version of OpenMetrics. */
function readRange(range: string): { readonly type: string; readonly weight: number } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const value = (name: string): string | undefined =>
    parameters.find((parameter) => parameter.startsWith(`${name}=`))?.slice(name.length + 1)
  const isOther = OPEN_METRICS.test(type) && (value('version') ?? VERSION) !== VERSION
  return { type, weight: isOther ? 0 : Number(value('q') ?? 1) }
}

const VERSION = '1.0.0'

/** The library writes bounds without a fraction as integers, and quotes in a help text as they are: both are not allowed. */
export const strictOpenMetrics = (text: string): string =>
  text
    .replace(/^(\w+_bucket\{le="\d+)"/gm, '$1.0"')
    .replace(/^# HELP .*$/gm, (line) => line.replaceAll('"', '\\"'))
