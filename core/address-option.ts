import { z } from 'zod'

/** An option that says where to listen: `HOST:PORT` or `[V6]:PORT`; port 0 is any free one. */
export function listenAddress() {
  return z.string().refine(isAddress, 'expected HOST:PORT with a port from 0 to 65535')
}

const isAddress = (text: string): boolean =>
  /^(?:\[[\da-f:.%\w]+\]|[^\s:]+):\d{1,5}$/i.test(text) &&
  Number(text.slice(text.lastIndexOf(':') + 1)) < 65_536
