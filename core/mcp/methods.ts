import type { ListedSubject } from '../contract/capabilities/policy.js'
import type { McpSubject } from '../contract/message.js'

/** The subjects that a method's parameters name: one, one by `ref`, resources to subscribe to, or none. */
type Naming = McpSubject['kind'] | 'reference' | 'subscriptions' | 'nothing'

/** The method whose answer is an event stream that lasts until the caller ends it. */
export const SUBSCRIPTION = 'subscriptions/listen'

/** The methods of MCP and its extensions that clients call. */
export const MCP_METHODS: ReadonlyMap<string, Naming> = new Map<string, Naming>([
  ['initialize', 'nothing'],
  ['ping', 'nothing'],
  ['server/discover', 'nothing'],
  ['tools/list', 'nothing'],
  ['tools/call', 'tool'],
  ['prompts/list', 'nothing'],
  ['prompts/get', 'prompt'],
  ['resources/list', 'nothing'],
  ['resources/templates/list', 'nothing'],
  ['resources/read', 'resource'],
  ['resources/subscribe', 'resource'],
  ['resources/unsubscribe', 'resource'],
  ['completion/complete', 'reference'],
  ['logging/setLevel', 'nothing'],
  [SUBSCRIPTION, 'subscriptions'],
  ['tasks/get', 'nothing'],
  ['tasks/list', 'nothing'],
  ['tasks/result', 'nothing'],
  ['tasks/update', 'nothing'],
  ['tasks/cancel', 'nothing'],
  ['skills/list', 'nothing'],
  ['skills/get', 'resource'],
  ['resources/directory/read', 'resource'],
])

/** The method that uses a subject of each kind. */
export const METHOD_FOR = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' } as const

/**
 * A list that callers get from an MCP server: the member of a result that holds it, and the key that identifies an
 * item.
 */
export interface McpList {
  readonly method: string
  readonly member: string
  readonly kind: ListedSubject['kind']
  readonly key: string
}

export const MCP_LISTS: readonly McpList[] = [
  { method: 'tools/list', member: 'tools', kind: 'tool', key: 'name' },
  { method: 'prompts/list', member: 'prompts', kind: 'prompt', key: 'name' },
  { method: 'resources/list', member: 'resources', kind: 'resource', key: 'uri' },
  { method: 'resources/templates/list', member: 'resourceTemplates', kind: 'template', key: 'uriTemplate' },
  { method: 'skills/list', member: 'skills', kind: 'resource', key: 'uri' },
]
