export const TOO_SLOW = 'it did not answer in time'

/** Why a server is unreachable, by the codes of Node, as clauses whose subject is the server. */
export const NETWORK_REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name does not resolve',
  EAI_AGAIN: 'the name server does not answer',
  ETIMEDOUT: TOO_SLOW,
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
}
