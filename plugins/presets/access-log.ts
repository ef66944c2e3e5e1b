import type { Entry } from 'sallyport'

/** The entry that logs finished requests; none when the operator turned it off. */
export const accessLog = ({ accessLog: requests }: { readonly accessLog: string }): Entry[] =>
  requests === 'off' ? [] : [{ use: 'log/access', with: { requests }, origin: { requests: ['accessLog'] } }]
