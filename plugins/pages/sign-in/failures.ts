import { plainCode } from 'sallyport/toolkit'
import { CONTACT, type Failure } from '#plugins/login/flow/failures.js'

export const refusedToken = (status: number, code: string, issuer: string): Failure => ({
  status: status === 503 ? 503 : 403,
  code: 'token_refused',
  sentence: `${issuer} signed you in, but the registry does not accept the token that it gave: ${plainCode(code)}`,
  advice: ADVICE[code] ?? ADVICE['invalid_token'] ?? CONTACT,
  ...(status === 503 && { retryAfter: 5 }),
})

const ADVICE: Readonly<Record<string, string>> = {
  invalid_token:
    'The operator of this registry finds the cause in its log. Often the issuer has to be told to give this client tokens for the audience of the registry.',
  insufficient_scope:
    'The token lacks a scope that the registry needs. The operator of this registry adds it to the scopes of signIn, and allows it to the client at the issuer.',
  authentication_unavailable: 'The token cannot be checked right now. Try again in a moment.',
  authentication_busy: 'Too many tokens are being checked right now. Try again in a moment.',
}

export const tooLarge = (issuer: string): Failure => ({
  status: 502,
  code: 'session_too_large',
  sentence: `the tokens of ${issuer} are too large for cookies`,
  advice: 'The operator of this registry asks for fewer claims or groups in the token, or for fewer scopes.',
})
