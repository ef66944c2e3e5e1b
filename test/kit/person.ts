/** The `accept` header of a browser. */
export const PAGE = { accept: 'text/html,application/xhtml+xml' }

/** A person with a browser, as far as signing in needs it: cookies, redirects and the forms of the issuer. */
export class Person {
  /** Those of a path, by origin, path and name. */
  private readonly narrow = new Map<string, string>()
  private readonly jars = new Map<string, Map<string, string>>()
  /** The requested URLs, in order. */
  readonly visited: string[] = []

  constructor(readonly name = 'alice') {}

  cookies(url: string): Map<string, string> {
    const { origin } = new URL(url)
    const jar = this.jars.get(origin) ?? new Map<string, string>()
    this.jars.set(origin, jar)
    return jar
  }

  private cookiesBelow(url: string): readonly (readonly [string, string])[] {
    const { origin, pathname } = new URL(url)
    return [...this.narrow].flatMap(([key, value]) => {
      const [place = '', name = ''] = key.split(' ')
      return value !== '' && `${origin}${pathname}`.startsWith(place) ? [[name, value] as const] : []
    })
  }

  async ask(url: string, init: RequestInit = {}): Promise<Response> {
    this.visited.push(url)
    const jar = this.cookies(url)
    const cookie = [...jar, ...this.cookiesBelow(url)].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...PAGE, ...(cookie !== '' && { cookie }), ...(init.headers as object) }
    const response = await fetch(url, { redirect: 'manual', ...init, headers })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      const [, path = '/'] = /; ?path=([^;]*)/i.exec(line) ?? []
      const isGone = value === '' || /max-age=0/i.test(line)
      if (path !== '/') this.narrow.set(`${new URL(url).origin}${path} ${name}`, isGone ? '' : value)
      else if (isGone) jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }

  /** Follows redirects, and fills in the forms, until another page comes or `stop` holds for a URL. */
  async follow(from: string, stop: (url: string) => boolean = () => false) {
    let url = from
    let init: RequestInit = {}
    for (let step = 0; step < 20; step++) {
      if (stop(url)) return { url, status: 0, headers: new Headers(), body: '' }
      const response = await this.ask(url, init)
      const body = await response.text()
      const location = response.headers.get('location')
      init = {}
      const form = formIn(body, this.name)
      if (location !== null) url = new URL(location, url).href
      else if (form === undefined) return { url, status: response.status, headers: response.headers, body }
      else {
        url = new URL(/action="([^"]+)"/.exec(body)?.[1] ?? '', url).href
        init = { method: 'POST', body: new URLSearchParams(form) }
      }
    }
    throw new Error(`redirected 20 times: ${this.visited.join(' ')}`)
  }

  /** Signs in by the link of a page, and returns the last page. */
  async signIn(page: string) {
    const body = await (await this.ask(page)).text()
    return this.follow(linkIn(body, page))
  }
}

/** What a person fills in: at the issuer a name and any password, and at the broker that a client is allowed. */
function formIn(body: string, name: string): Record<string, string> | undefined {
  const [, prompt] = /name="prompt" value="(\w+)"/.exec(body) ?? []
  if (prompt !== undefined) return { prompt, login: name, password: 'x' }
  const [, token] = /name="token" value="([^"]+)"/.exec(body) ?? []
  return token !== undefined && body.includes('value="allow"') ? { token, decision: 'allow' } : undefined
}

/** The URL of the link `Sign in` of a page. */
export const linkIn = (body: string, page: string): string =>
  new URL((/href="([^"]+)">Sign in</.exec(body)?.[1] ?? 'about:blank').replaceAll('&amp;', '&'), page).href
