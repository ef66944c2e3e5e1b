// Published as `sallyport/testing`: plugin authors use it too.
export {
  type CheckResult,
  type ConformanceContext,
  type ConformanceSuite,
  type Fixtures,
  Inconclusive,
  type Requirement,
} from '#core/conformance/requirement.js'
export {
  type ConformanceOptions,
  type ConformanceResult,
  ConformanceRunner,
} from '#core/conformance/runner.js'
export { conformanceSuites } from '#core/conformance/suites.js'
export {
  type AuthenticatorCase,
  authenticatorSuite,
  gatewayWith,
  judgesClaims,
  protectedRoute,
  refusesNonsense,
  refusesWhenFaulty,
  stopsCleanly,
} from './authenticator.js'
export { booted, recordedLog, serving } from './booted.js'
export { eventually } from './captured-log.js'
export { type ContractCase, contractSuite } from './contract-suite.js'
export { type FakeClock, fakeClock } from './fake-clock.js'
export { providerFaults, tooManyRequests } from './faults.js'
export { Issuer, type IssuerOptions, type IssuerPaths, issuing, type ReceivedRequest } from './issuer.js'
export { closedPort, listening } from './listening.js'
export { type McpEra, type McpTarget, type McpTargetOptions, mcpTarget } from './mcp-target.js'
