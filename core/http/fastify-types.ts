import type { Identity } from '../contracts/identity.js'
import type { ErrorShape } from './answers.js'
import type { Credentials } from './credentials.js'

// The only place that adds to Fastify's types. A plugin that has something to share declares a capability.
declare module 'fastify' {
  interface FastifyRequest {
    /** What the `Authorization` header held. Read once, before the authenticators are asked. */
    credentials: Credentials
    /** Who sent it; absent on a public route, where nobody was asked. */
    identity: Identity | undefined
  }

  interface FastifyContextConfig {
    /** This route answers without credentials. */
    public?: boolean
    /** The form of the error bodies on this route; plain JSON when unset. */
    errors?: ErrorShape
    /** The handler itself answers `Expect: 100-continue`; otherwise the kernel does, after the gate. */
    forwardsExpect?: boolean
    /**
     * The handler takes WebSocket upgrades: `isUpgrade` tells them, and their socket is the handler's after the
     * gate has let them in. Any other route answers as if `Upgrade` were not there.
     */
    upgrades?: boolean
  }
}
