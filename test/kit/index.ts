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
export { eventually } from './captured-log.js'
export { type ContractCase, contractSuite } from './contract-suite.js'
export { Bench, type BenchOptions, contracts, type Judgement } from './contracts/bench.js'
export {
  type Clause,
  type Contract,
  Doubt,
  type Facts,
  type Outcome,
  type Place,
} from './contracts/contract.js'
export { type FakeClock, fakeClock } from './fake-clock.js'
export { providerFaults, tooManyRequests } from './faults.js'
export { type Asked, Issuer, type IssuerOptions, type IssuerPlaces, issuing } from './issuer.js'
export { closedPort, listening } from './listening.js'
export { type McpEra, type McpTarget, type McpTargetOptions, mcpTarget } from './mcp-target.js'
