import { isUtf8 } from 'node:buffer'

/**
 * The text by which a request target is routed; the original stays readable as `originalUrl`. An absolute target
 * is routed by its path (RFC 9112, 3.2.2), so its authority has no effect. A percent sign that begins no escape
 * stands for itself, so that a path that cannot be decoded still matches a route and passes that route's gate.
 */
export function routedTarget(target: string): string {
  if (target.charCodeAt(0) !== SLASH) return originForm(target)
  return target.includes('%') ? escapeStrayPercents(target) : target
}

const SLASH = 0x2f

function originForm(target: string): string {
  const [scheme] = /^https?:\/\//i.exec(target) ?? []
  if (scheme === undefined) return target
  const start = target.slice(scheme.length).search(/[/?#]/)
  if (start < 0) return '/'
  const rest = target.slice(scheme.length + start)
  return escapeStrayPercents(rest.startsWith('/') ? rest : `/${rest}`)
}

function escapeStrayPercents(target: string): string {
  const end = target.search(/[?#]/)
  const path = end < 0 ? target : target.slice(0, end)
  if (decodes(path)) return target
  const repaired = path.replaceAll(/(?:%[\da-f]{2})+|%/gi, (run) =>
    isText(run) ? run : run.replaceAll('%', '%25'),
  )
  return end < 0 ? repaired : repaired + target.slice(end)
}

// Not by decoding, which throws for each run that is no UTF-8: a path of 30,000 percent signs took 140 milliseconds.
const isText = (run: string): boolean => run !== '%' && isUtf8(Buffer.from(run.replaceAll('%', ''), 'hex'))

function decodes(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
