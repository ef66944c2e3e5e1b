import { MCP_METHODS } from 'sallyport/toolkit'

/**
 * Whether a method of MCP names a tool, prompt or resource; `undefined` for a method that MCP does not have. A response
 * has the empty method. No rule can be about a method that names nothing: a session needs these methods, and the
 * gateway filters the lists in their answers. A client finds a task by an identifier, which the server gave to the
 * caller that was allowed to begin it.
 */
export function namesSomething(method: string): boolean | undefined {
  const naming = MCP_METHODS.get(method)
  if (naming === undefined) return method === '' || method.startsWith('notifications/') ? false : undefined
  // A subscription may name no resource at all.
  return naming !== 'nothing' && naming !== 'subscriptions'
}
