import type { TestContext } from 'node:test'
import type { Entry, ServeContext } from 'sallyport'
import { eventually } from '../../../kit/captured-log.js'
import { proxied } from '../../forward/proxied.js'

type Options = Readonly<Record<string, unknown>>

/** The entries of a login, as the proxy's preset would write them. */
export const loginEntries = (
  options: Options,
  { registrars = [{ use: 'registrar/remembered' }, { use: 'registrar/dynamic' }], directory }: Kept = {},
): Entry[] => [
  directory === undefined ? { use: 'state/memory' } : { use: 'state/files', with: { directory } },
  ...registrars,
  { use: 'credential/oauth', with: { openBrowser: false, callbackPort: 0, ...options } },
]

export interface Kept {
  readonly registrars?: readonly Entry[]
  readonly directory?: string
}

/** A proxy that signs in to this target. */
export function signingIn(
  t: TestContext,
  target: string,
  options: Options = {},
  kept: Kept = {},
  context: Partial<ServeContext> = {},
) {
  return proxied(t, target, {}, loginEntries({ target, ...options }, kept), context)
}

/** A person who reads what the program prints. `visit` goes to a page that was printed; by default every page at once. */
export function person(t: TestContext, visit: (url: string) => unknown = (url) => fetch(url)) {
  const urls: string[] = []
  const write = process.stderr.write.bind(process.stderr)
  t.mock.method(process.stderr, 'write', (text: string | Uint8Array) => {
    const url = /^Open this URL to sign in: (\S+)\n$/.exec(String(text))?.[1]
    if (url === undefined) return write(text)
    urls.push(url)
    // The page of the proxy may be gone with the test.
    Promise.resolve(visit(url)).catch(() => {})
    return true
  })
  return { urls, next: () => eventually(() => urls.at(-1)) }
}
