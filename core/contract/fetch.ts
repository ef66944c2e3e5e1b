/** The part of `fetch` that requests to providers need. `jose`, `oauth4webapi` and `openid-client` accept it. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>
