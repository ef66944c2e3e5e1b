import type { IncomingMessage, ServerResponse } from 'node:http'

/** What answers behind a port. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void
