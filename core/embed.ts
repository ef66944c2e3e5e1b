// `sallyport/embed`: boots and serves a list of plugins, for programs that embed a gateway.

export { boot, entryProblems, planList } from './kernel/boot.js'
export type { BootContext } from './kernel/boot-context.js'
export { GatewayInstance } from './kernel/instance.js'
export { stepFailure } from './kernel/lifecycle.js'
export { type Catalogue, type Loaded, Loader } from './kernel/load.js'
export { missingPackagesOf } from './kernel/packages.js'
export {
  entriesOf,
  isPlannedScope,
  type Locate,
  type PlannedEntry,
  type PlannedScope,
} from './kernel/plan.js'
export { type GatewayServer, type ServeContext, serve } from './kernel/server.js'
export { TRIAL_FLAGS, type TrialFinding, trySetup } from './kernel/trial.js'
export { type JsonSchema, jsonSchemaOf } from './kernel/validate-options.js'
export { warningsOf } from './kernel/warnings.js'
export { meterDroppedLines } from './log/dropped-lines.js'
export { createLog, type LogOptions } from './log/log.js'
export { LogScrubber } from './log/scrubber.js'
export { StderrLines } from './log/stderr.js'
export { pathText } from './toolkit/path-text.js'
export { redact } from './toolkit/redact.js'
