import { z } from 'zod'
import { parseHostPort } from './host-port.js'

/** An option that says where to listen: `HOST:PORT` or `[V6]:PORT`; port 0 is any free one. */
export function listenAddress() {
  return z
    .string()
    .refine((text) => parseHostPort(text) !== undefined, 'expected HOST:PORT with a port from 0 to 65535')
}
