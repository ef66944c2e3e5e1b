import { type Fields, fieldsOf } from './messages.js'

/** The error of a JSON-RPC answer, whatever its status was. Ours are in this form, and those of most targets. */
export function errorIn(
  body: Buffer | undefined,
): { readonly code: number; readonly message: string } | undefined {
  const error = fieldsOf(parsed(body)['error'])
  const { code, message } = error
  return typeof code === 'number' && typeof message === 'string' ? { ...error, code, message } : undefined
}

function parsed(body: Buffer | undefined): Fields {
  try {
    return body === undefined ? {} : fieldsOf(JSON.parse(body.toString()))
  } catch {
    return {}
  }
}

export const refusedSentence = (status: number): string =>
  status === 401 || status === 403
    ? `the target wants another credential (${status}): see --remote-auth and --remote-auth-bearer-token-file`
    : `the target answered ${status}`
