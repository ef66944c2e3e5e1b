import type { IncomingMessage, ServerResponse } from 'node:http'
import { closeAfterBody, owesBody } from './body.js'

/** `OPTIONS *` asks about the server, and not about anything on it (RFC 9110, 9.3.7): a load balancer does, to see it live. */
export const asksAboutServer = ({ method, url }: IncomingMessage): boolean =>
  url === '*' && method === 'OPTIONS'

export function answerAboutServer(request: IncomingMessage, response: ServerResponse): void {
  if (owesBody(request)) closeAfterBody(response, 204)
  response.writeHead(204, { 'x-content-type-options': 'nosniff' }).end()
}
