import { spawn } from 'node:child_process'
import { insecureHttpAllowed, isInsecure, UpstreamError } from 'sallyport'

/**
 * An endpoint for people, as it may be handed to the opener of the operating system. A target names it, and openers
 * run programs for `file:` and the like (CVE-2025-6514).
 */
export function browserUrl(written: string | undefined, issuer: string): URL {
  const url = written !== undefined && URL.canParse(written) ? new URL(written) : undefined
  const isClean = written !== undefined && !/[\s\p{Cc}"'`<>\\^{|}]/u.test(written)
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (
    url === undefined ||
    !isWeb ||
    !isClean ||
    url.username !== '' ||
    url.password !== '' ||
    url.hash !== ''
  ) {
    throw new UpstreamError(
      'AUTHORIZATION_URL_REFUSED',
      `the issuer ${issuer} has no page to sign in at: expected a plain http or https URL`,
    )
  }
  if (isInsecure(url) && !insecureHttpAllowed()) {
    throw new UpstreamError(
      'AUTHORIZATION_URL_REFUSED',
      `the page to sign in at ${url.origin} is refused: only https is allowed there`,
    )
  }
  return url
}

const OPENERS: Readonly<Record<string, readonly [command: string, ...leading: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

// An opener that still runs after this is the browser itself.
const PATIENCE = 3_000

/**
 * Opens a page, and answers whether that seems to have worked. By hand, since the packages for it hand the URL to a
 * PowerShell line or a script of their own: here it is one element of an argument vector.
 */
export function openBrowser({ href }: URL): Promise<boolean> {
  const [command, ...leading] = OPENERS[process.platform] ?? ['xdg-open']
  return new Promise((resolve) => {
    const opener = spawn(command, [...leading, href], { stdio: 'ignore', detached: true, shell: false })
    const timer = setTimeout(() => resolve(true), PATIENCE).unref()
    const settle = (opened: boolean): void => {
      clearTimeout(timer)
      resolve(opened)
    }
    opener.on('error', () => settle(false))
    opener.on('exit', (code) => settle(code === 0))
    opener.unref()
  })
}
