import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The response that a connection is sending. Errors and stops need it, and Node has no public property for it. */
export const currentResponse = (socket: Socket): ServerResponse | null =>
  Reflect.get(socket, '_httpMessage') ?? null
