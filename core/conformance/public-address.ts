import { PublicAddress } from '../contract/capabilities/public-address.js'
import { type ConformanceSuite, isText } from './requirement.js'

const isOrigin = (text: unknown): boolean =>
  isText(text) && URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text

const MALFORMED = 'its origin is not as a browser writes it'

export const publicAddressConformance: ConformanceSuite<PublicAddress> = {
  capability: PublicAddress,
  requirements: [
    {
      code: 'ORIGIN_MALFORMED',
      statement: 'has an origin as a browser writes it, or none yet',
      advice:
        "answer `new URL(text).origin`, such as https://a.example: it is compared with a caller's `Origin`",
      check: ({ origin }) => (origin === undefined || isOrigin(origin) ? undefined : MALFORMED),
    },
    {
      code: 'ORIGIN_UNTOLD',
      statement: 'tells the origin that is known to whoever begins to watch',
      advice: 'let `watch` call the function at once when the origin is known, and again for every other one',
      async check(address) {
        const told: unknown[] = []
        address.watch((origin) => void told.push(origin))
        // A promise that is settled already counts as at once.
        await new Promise((resolve) => void setImmediate(resolve))
        if (address.origin === undefined)
          return told.length === 0 ? undefined : 'it tells an origin that it does not have'
        return told.includes(address.origin) ? undefined : 'the origin is known, and not told'
      },
    },
  ],
}
