import type { ServerResponse } from 'node:http'
import type { PublishedChange } from './capabilities/audit-sink.js'
import type { Credentials } from './credentials.js'
import type { ErrorShape } from './error-shape.js'
import type { Identity } from './identity.js'
import type { McpMessage } from './message.js'

// The only place that extends Fastify's types. A plugin that has something to share declares a capability.
declare module 'fastify' {
  interface FastifyRequest {
    /** The content of the `Authorization` header, parsed once before authentication. */
    credentials: Credentials
    /** Who sent the request; on a public route only who is there with a session. */
    identity: Identity | undefined
    /** Its route or path is public: it needs no credentials. */
    isOpen: boolean
    /**
     * The address of the client: the other end of the connection, or what a trusted proxy says of it; `unknown` for a
     * connection without an address. It is computed at each use.
     */
    readonly clientAddress: string
    /**
     * The whole body as it came, for who has to look at it before it goes on, such as a signature or a policy. It is
     * read when somebody asks, kept, and handed on; do not change it. More than `maxBytes`, 16 MiB unless given, is
     * refused with 413. `body` may hold something else, or nothing.
     */
    wholeBody(maxBytes?: number): Promise<Buffer>
    /**
     * What the body of a POST on a route with `mcp` calls; `undefined` for any other request. It is read once, when
     * somebody asks, and then refused if servers could read it in more than one way.
     */
    message(): Promise<McpMessage | undefined>
    /** Audits what this request changed in a registry, also when its caller does not wait for the answer. */
    recordPublished(change: PublishedChange): void
    /**
     * Has the authenticators decide about these credentials, by default those of the `Authorization` header: for a route
     * that asks for a caller also where its path is public, and never takes a session. Rejects with the refusal; else
     * `identity` is who they belong to.
     */
    authenticate(credentials?: Credentials): Promise<Identity>
  }

  interface FastifyContextConfig {
    /** This route needs no credentials. */
    public?: boolean
    /** The session of a browser opens this route too, for GET and HEAD; a public one then knows who is there. */
    session?: boolean
    /** Pages of any origin may use this route: what it sends is public. */
    anyOrigin?: boolean
    /** The form of the error bodies on this route; plain JSON when unset. */
    errors?: ErrorShape
    /** The handler itself handles `Expect: 100-continue`; otherwise the gate sends it. */
    forwardsExpect?: boolean
    /**
     * The handler accepts WebSocket upgrades: `isUpgrade` recognizes an admitted one, and `takeSocket` gives its socket.
     * Any other route responds as if the `Upgrade` header were absent.
     */
    upgrades?: boolean
    /** Its requests go to an MCP server: the policies of the scope judge them. */
    mcp?: boolean
    /** Bytes of the largest message that is read of such a request, 1 MiB unless given; a larger one is refused with 413. */
    maxMessage?: number
    /**
     * How `wholeBody` reads a body before the handler runs, within the limits of the handler: at most `maxBytes`, and
     * what is kept of it until the response closes. A body that has come it may return at once.
     */
    readBody?: (
      request: FastifyRequest,
      response: ServerResponse,
      maxBytes: number,
    ) => Buffer | Promise<Buffer>
  }
}
