import type { Addresses } from 'sallyport'

const NAMES = ['localhost', '127.0.0.1', '[::1]']

/** The ways to write this machine's own name with the port that was opened, as browsers send them in `Host`. */
export function loopbackHosts({ main }: Addresses): string[] {
  if (main === undefined) return []
  const { port } = new URL(main)
  // A browser leaves out the port that its scheme implies.
  if (port === '') return NAMES
  return NAMES.map((name) => `${name}:${port}`)
}
