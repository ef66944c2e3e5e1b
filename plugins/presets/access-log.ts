import type { Entry } from 'sallyport'

/** What writes the lines about requests that have ended; nothing when there are to be none. */
export const accessLog = ({ accessLog: requests }: { readonly accessLog: string }): Entry[] =>
  requests === 'off' ? [] : [{ use: 'log/access', with: { requests }, origin: { requests: ['accessLog'] } }]
