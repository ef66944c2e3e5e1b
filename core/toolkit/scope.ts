import { z } from 'zod'

// RFC 6749, 3.3.
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

const EXPECTED = 'expected a scope: printable, without spaces, quotes and backslashes'

export const isScope = (text: string): boolean => SCOPE.test(text)

/** An option that holds one scope. */
export const scopeToken = (error = EXPECTED) => z.string({ error }).regex(SCOPE, error)
