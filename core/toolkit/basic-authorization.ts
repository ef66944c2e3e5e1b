/**
 * The value of `Authorization` for a client with a secret. Both are form-encoded before base64: a colon in either
 * would move the separator (RFC 6749, 2.3.1).
 */
export function basicAuthorization(clientId: string, clientSecret: string): string {
  const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)
