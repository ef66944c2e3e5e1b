import { MCP_METHODS } from 'sallyport/toolkit'

/**
 * Of a method of MCP whether it names something, and `undefined` for any other. The empty one is that of a response. What
 * names nothing no rule could be about: without it nothing works, and what its answers list is filtered. A task is found
 * by an identifier that its server gave to whoever was allowed to begin it.
 */
export function namesSomething(method: string): boolean | undefined {
  const naming = MCP_METHODS.get(method)
  if (naming === undefined) return method === '' || method.startsWith('notifications/') ? false : undefined
  // Who subscribes may name no resource at all.
  return naming !== 'nothing' && naming !== 'subscriptions'
}
