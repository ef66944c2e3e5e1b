import { createRequire } from 'node:module'

type Whole = typeof import('undici')

/** What of undici the way out to providers is made of. */
export type Undici = Pick<Whole, 'Agent' | 'buildConnector' | 'fetch' | 'Headers' | 'Response'>

const require = createRequire(import.meta.url)

/**
 * The parts, since the whole of undici is a hundred files more, and the `Headers` and `Response` that Node has by
 * itself are another copy of it: a start would wait for both and keep them in memory.
 */
export function loadUndici(): Undici {
  return {
    fetch: require('undici/lib/web/fetch/index.js').fetch,
    Headers: require('undici/lib/web/fetch/headers.js').Headers,
    Response: require('undici/lib/web/fetch/response.js').Response,
    Agent: require('undici/lib/dispatcher/agent.js'),
    buildConnector: loadConnector(),
  }
}

export const loadConnector = (): Whole['buildConnector'] => require('undici/lib/core/connect.js')
