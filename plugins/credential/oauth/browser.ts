import { spawn } from 'node:child_process'
import { type Scrubber, UpstreamError } from 'sallyport'
import { childEnvironment, insecureHttpAllowed, isInsecure, PLAIN_HTTP_RULE } from 'sallyport/toolkit'

/**
 * Validates an authorization URL before the operating system opens it. The URL comes from the target, and openers run
 * programs for `file:` and the like (CVE-2025-6514).
 */
export function browserUrl(text: string | undefined, issuer: string): URL {
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined
  const isSafe = text !== undefined && !/[\s\p{Cc}"'`<>\\^{|}]/u.test(text)
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (
    url === undefined ||
    !isWeb ||
    !isSafe ||
    url.username !== '' ||
    url.password !== '' ||
    url.hash !== ''
  ) {
    throw new UpstreamError(
      'AUTHORIZATION_URL_REFUSED',
      `the issuer ${issuer} has no usable sign-in page: expected a plain http or https URL`,
    )
  }
  if (isInsecure(url) && !insecureHttpAllowed()) {
    throw new UpstreamError(
      'AUTHORIZATION_URL_REFUSED',
      `the sign-in page at ${url.origin} is refused: expected https; ${PLAIN_HTTP_RULE}`,
    )
  }
  return url
}

const OPENERS: Readonly<Record<string, readonly [command: string, ...leading: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

// An opener that still runs after this is the browser itself.
const OPENER_TIMEOUT = 3_000

/**
 * Opens a page in the browser, and resolves to whether that seems to have worked. Without a package: packages put the
 * URL in a PowerShell command or a script of their own. Here the URL is one element of an argument vector.
 */
export function openBrowser({ href }: URL, scrubber: Scrubber): Promise<boolean> {
  const [command, ...leading] = OPENERS[process.platform] ?? ['xdg-open']
  return new Promise((resolve) => {
    const opener = spawn(command, [...leading, href], {
      env: childEnvironment(scrubber),
      stdio: 'ignore',
      detached: true,
      shell: false,
    })
    const timer = setTimeout(() => resolve(true), OPENER_TIMEOUT).unref()
    const settle = (opened: boolean): void => {
      clearTimeout(timer)
      resolve(opened)
    }
    opener.on('error', () => settle(false))
    opener.on('exit', (code) => settle(code === 0))
    opener.unref()
  })
}
