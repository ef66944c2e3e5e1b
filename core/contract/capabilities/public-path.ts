import { many } from '../capability.js'

/**
 * A path, below the scope, that needs no credentials, with everything below it. Whole segments are compared with the
 * matched route and its parameters, never with a second parsing of the URL.
 */
export type PublicPath = string

export const PublicPath = many<PublicPath>('public path')
