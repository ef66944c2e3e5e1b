// What plugin authors test with, too: it is published as `sallyport/testing`.
export {
  type AuthenticatorCase,
  authenticatorSuite,
  closedRoute,
  gateOf,
  judgesClaims,
  refusesNonsense,
  refusesWhenFaulty,
  stopsCleanly,
} from './authenticator.js'
export { booted, recordedLog, serving } from './booted.js'
export { providerFaults } from './faults.js'
export { type Asked, Issuer, type IssuerOptions, issuing } from './issuer.js'
export { listening } from './listening.js'
