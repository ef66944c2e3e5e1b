import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The response that a connection is sending. Node has no public property for it, and an error or a stop has to know. */
export const currentResponse = (socket: Socket): ServerResponse | null =>
  Reflect.get(socket, '_httpMessage') ?? null
