import { Refusal } from 'sallyport'

const CODES = { host: 'HOST_FORBIDDEN', origin: 'ORIGIN_FORBIDDEN' }
const MESSAGES = { host: 'this host name is not allowed', origin: 'this origin is not allowed' }

// Longer than any host or origin that a browser sends.
const MAX_LOGGED = 300

/** The refusal of a host or origin. The log shows the value, so that an operator knows what to allow. */
export function notAllowed(header: keyof typeof CODES, sent: string): Refusal {
  const code = CODES[header]
  const reason = { provider: 'gate', cause: code.toLowerCase(), detail: sent.slice(0, MAX_LOGGED) }
  return new Refusal(403, code, MESSAGES[header], { reasons: [reason] })
}
