import type { OptionGroup } from './option.js'

/** Checking the tokens of requests that reach the proxy. */
export const proxyIncomingGroup = {
  title: 'Who may use the proxy',
  options: [
    {
      name: 'oidc-issuer',
      type: 'url',
      placeholder: 'URL',
      help: 'Issuer of the tokens that are accepted; turns the check on',
    },
    {
      name: 'oidc-audience',
      type: 'string',
      placeholder: 'AUDIENCE',
      help: 'Audience that a token must be for',
    },
    {
      name: 'oidc-any-audience',
      type: 'boolean',
      help: 'Accept tokens for any audience, instead of --oidc-audience',
    },
    {
      name: 'oidc-client-id',
      type: 'string',
      placeholder: 'ID',
      help: 'Client ID for introspection requests',
    },
    {
      name: 'oidc-client-secret',
      type: 'string',
      placeholder: 'SECRET',
      secret: true,
      help: 'Client secret for introspection; other users of this machine can see a flag, so prefer the file',
    },
    {
      name: 'oidc-client-secret-file',
      type: 'string',
      placeholder: 'FILE',
      help: 'File that holds the client secret for introspection',
    },
    {
      name: 'oidc-introspection-url',
      type: 'url',
      placeholder: 'URL',
      help: 'Token introspection endpoint (RFC 7662), for tokens that are not JWTs',
    },
    {
      name: 'oidc-jwks-url',
      type: 'url',
      placeholder: 'URL',
      help: "The issuer's keys; found by discovery unless given",
    },
    {
      name: 'oidc-scopes',
      type: 'list',
      placeholder: 'SCOPES',
      default: 'openid',
      help: 'Scopes that discovery advertises (RFC 9728)',
    },
    {
      name: 'oidc-ca-cert',
      type: 'string',
      placeholder: 'FILE',
      help: 'CA certificates to trust for the issuer, instead of the usual ones',
    },
    {
      name: 'oidc-auth-token-file',
      type: 'string',
      placeholder: 'FILE',
      help: 'File with a token that authenticates key fetches and introspection',
    },
    {
      name: 'oidc-allow-private-ip',
      type: 'boolean',
      help: 'The issuer may be at a private or loopback address',
    },
    {
      name: 'allow-unauthenticated',
      type: 'boolean',
      help: 'Lend outgoing credentials to anybody who reaches a host that is not loopback',
    },
  ],
} as const satisfies OptionGroup
