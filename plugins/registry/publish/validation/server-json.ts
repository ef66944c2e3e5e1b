// `sallyport/server-json`: validates server documents as a registry does, for the command line and for programs.

export type { Issue, Validation } from './issue.js'
export { type LocatedIssue, type LocatedValidation, validateLocated } from './validate-located.js'
export { validateServer } from './validate-server.js'
