import type { Addresses } from '../contract/gateway.js'

const NAMES = ['localhost', '127.0.0.1', '[::1]']

/** The address of the open port, and the names of loopback with that port, as browsers send them in `Host`. */
export function loopbackHosts({ main }: Addresses): string[] {
  if (main === undefined) return []
  const { host, port } = new URL(main)
  // A browser leaves out the default port of a scheme, and so does `URL`.
  return [host, ...NAMES.map((name) => (port === '' ? name : `${name}:${port}`))]
}
