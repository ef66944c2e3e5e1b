import { z } from 'zod'

/** The stored form of a `RegisteredClient`: without a private key. */
export const registeredClient = z.object({
  issuer: z.string(),
  clientId: z.string(),
  clientSecret: z.string().optional(),
  tokenEndpointAuthMethod: z.string().optional(),
  redirectUris: z.array(z.string()).readonly().optional(),
  secretExpiresAt: z.number().optional(),
})
