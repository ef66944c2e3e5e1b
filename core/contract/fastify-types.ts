import type { ServerResponse } from 'node:http'
import type { PublishedChange } from './capabilities/audit-sink.js'
import type { Credentials } from './credentials.js'
import type { ErrorShape } from './error-shape.js'
import type { Identity } from './identity.js'
import type { McpMessage } from './message.js'

// The only file that extends Fastify's types. A plugin that has something to share declares a capability.
declare module 'fastify' {
  interface FastifyRequest {
    /** The content of the `Authorization` header, parsed once before authentication. */
    credentials: Credentials
    /** The sender of the request; on a public route only the person of a browser session. */
    identity: Identity | undefined
    /** Its route or path is public: it needs no credentials. */
    isOpen: boolean
    /**
     * The address of the client: the other end of the connection, or the address that a trusted proxy reports;
     * `unknown` for a connection without an address. It is computed at each use.
     */
    readonly clientAddress: string
    /**
     * The whole body as the client sent it, for code that checks it before the gateway forwards it, such as a
     * signature or a policy. The first call reads it; the gateway keeps and forwards these bytes, so do not change
     * them. A body over `maxBytes`, by default 16 MiB, is refused with 413. `body` may hold something else, or
     * nothing.
     */
    wholeBody(maxBytes?: number): Promise<Buffer>
    /**
     * The message in the body of a POST on a route with `mcp`; `undefined` for any other request. The first call
     * reads the body, and refuses one that servers could read in more than one way.
     */
    message(): Promise<McpMessage | undefined>
    /**
     * Records in the audit what this request changed in a registry, also when the client does not wait for the
     * response.
     */
    recordPublished(change: PublishedChange): void
    /**
     * Lets the authenticators decide about these credentials, by default those of the `Authorization` header: for a
     * route that needs an authenticated caller even where its path is public, and that never accepts a session.
     * Rejects with the refusal; otherwise `identity` is the owner of the credentials.
     */
    authenticate(credentials?: Credentials): Promise<Identity>
  }

  interface FastifyContextConfig {
    /** This route needs no credentials. */
    public?: boolean
    /**
     * A browser session gives access to this route too, for GET and HEAD; on a public route it only sets `identity`.
     */
    session?: boolean
    /** Pages of any origin may use this route: what it sends is public. */
    anyOrigin?: boolean
    /** The form of the error bodies on this route; plain JSON when unset. */
    errors?: ErrorShape
    /** The handler itself handles `Expect: 100-continue`; otherwise the gate sends it. */
    forwardsExpect?: boolean
    /**
     * The handler accepts WebSocket upgrades: `isUpgrade` recognizes an admitted one, and `takeSocket` gives its
     * socket. Any other route responds as if the `Upgrade` header were absent.
     */
    upgrades?: boolean
    /** Its requests go to an MCP server: the policies of the scope judge them. */
    mcp?: boolean
    /**
     * Bytes of the largest message that the gate reads of such a request, by default 1 MiB; it refuses a larger one
     * with 413.
     */
    maxMessage?: number
    /**
     * Reads the body for `wholeBody` before the handler runs, within the limits of the handler: `maxBytes`, and the
     * bytes that it keeps until the response closes. It may return at once a body that has arrived.
     */
    readBody?: (
      request: FastifyRequest,
      response: ServerResponse,
      maxBytes: number,
    ) => Buffer | Promise<Buffer>
  }
}
