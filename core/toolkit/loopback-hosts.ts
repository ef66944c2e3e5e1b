import type { Addresses } from '../contract/gateway.js'

const NAMES = ['localhost', '127.0.0.1', '[::1]']

/** The address that was opened, and the names of loopback with its port, as browsers send them in `Host`. */
export function loopbackHosts({ main }: Addresses): string[] {
  if (main === undefined) return []
  const { host, port } = new URL(main)
  // A browser leaves out the port that its scheme implies, and so does URL.
  return [host, ...NAMES.map((name) => (port === '' ? name : `${name}:${port}`))]
}
