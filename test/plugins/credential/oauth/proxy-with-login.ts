import type { TestContext } from 'node:test'
import type { Entry } from 'sallyport'
import type { ServeContext } from 'sallyport/embed'
import { eventually } from '#kit/captured-log.js'
import { proxied } from '../../forward/proxied.js'

type Options = Readonly<Record<string, unknown>>

/** The entries of a login, as the preset of the proxy has them. */
export const loginEntries = (
  options: Options,
  { registrars = [{ use: 'registrar/remembered' }, { use: 'registrar/dynamic' }], directory }: Setup = {},
): Entry[] => [
  directory === undefined ? { use: 'state/memory' } : { use: 'state/sqlite', with: { directory } },
  ...registrars,
  { use: 'credential/oauth', with: { openBrowser: false, callbackPort: 0, ...options } },
]

export interface Setup {
  readonly registrars?: readonly Entry[]
  readonly directory?: string
}

/** A proxy that signs in to this target. */
export function proxyWithLogin(
  t: TestContext,
  target: string,
  options: Options = {},
  setup: Setup = {},
  context: Partial<ServeContext> = {},
) {
  return proxied(t, target, {}, loginEntries({ target, ...options }, setup), context)
}

/** A user who reads what the program prints. `visit` opens a printed page; by default every page at once. */
export function signInUser(t: TestContext, visit: (url: string) => unknown = (url) => fetch(url)) {
  const urls: string[] = []
  const write = process.stderr.write.bind(process.stderr)
  t.mock.method(process.stderr, 'write', (text: string | Uint8Array) => {
    const url = /^Open this URL to sign in: (\S+)\n$/.exec(String(text))?.[1]
    if (url === undefined) return write(text)
    urls.push(url)
    // The callback listener may be closed at the end of the test.
    Promise.resolve(visit(url)).catch(() => {})
    return true
  })
  return { urls, next: () => eventually(() => urls.at(-1)) }
}
