import { PublicPath } from '../contract/capabilities/public-path.js'
import type { ConformanceSuite } from './requirement.js'

export const publicPathConformance: ConformanceSuite<PublicPath> = {
  capability: PublicPath,
  requirements: [
    {
      code: 'PATH_MALFORMED',
      statement: 'opens a plain path below /',
      advice:
        'give a path such as /registry/public: a pattern or an encoding is compared as text, and never matches',
      check: (path) =>
        /^(?:\/(?!\.{1,2}(?:\/|$))[^/\s?#%*:]+)+\/?$/.test(path)
          ? undefined
          : `${JSON.stringify(path)} is no plain path`,
    },
  ],
}
