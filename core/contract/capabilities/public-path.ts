import { many } from '../capability.js'

/**
 * A path, below the scope, that needs no credentials, with everything under it. Whole segments count, and
 * they are compared with the route that matched and its parameters, never with a second reading of the URL.
 */
export type PublicPath = string

export const PublicPath = many<PublicPath>('public path')
