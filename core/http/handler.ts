import type { IncomingMessage, ServerResponse } from 'node:http'

/** Handles the requests of a port. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void
