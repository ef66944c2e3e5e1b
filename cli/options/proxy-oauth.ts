import type { OptionGroup } from './option.js'

/** Signing in to the target with OAuth. */
export const proxyOAuthGroup = {
  title: 'OAuth to the target',
  options: [
    {
      name: 'remote-auth',
      type: 'boolean',
      help: 'Sign in to the target with OAuth or OIDC',
    },
    {
      name: 'remote-auth-issuer',
      type: 'url',
      placeholder: 'URL',
      help: 'Issuer of the authorization server (OIDC)',
    },
    {
      name: 'remote-auth-authorize-url',
      type: 'url',
      placeholder: 'URL',
      help: 'Authorization endpoint, for a server without discovery',
    },
    {
      name: 'remote-auth-token-url',
      type: 'url',
      placeholder: 'URL',
      help: 'Token endpoint, for a server without discovery',
    },
    {
      name: 'remote-auth-client-id',
      type: 'string',
      placeholder: 'ID',
      help: 'Client ID; not needed where clients can register themselves',
    },
    {
      name: 'remote-auth-client-secret',
      type: 'string',
      placeholder: 'SECRET',
      secret: true,
      env: ['SALLYPORT_REMOTE_OAUTH_CLIENT_SECRET', 'SERVICE_REMOTE_OAUTH_CLIENT_SECRET'],
      help: 'Client secret; other users of this machine can see a flag, so prefer the file',
    },
    {
      name: 'remote-auth-client-secret-file',
      type: 'string',
      placeholder: 'FILE',
      help: 'File that holds the client secret',
    },
    {
      name: 'remote-auth-client-key-file',
      type: 'string',
      placeholder: 'FILE',
      help: 'File that holds the private key of a client without a person, in place of a secret (RFC 7523)',
    },
    {
      name: 'remote-auth-scopes',
      type: 'list',
      placeholder: 'SCOPES',
      help: 'Scopes to ask for; with --remote-auth-issuer they are openid,profile,email unless given',
    },
    {
      name: 'remote-auth-scope-param-name',
      type: 'string',
      placeholder: 'NAME',
      help: 'Query parameter of the authorization URL that carries the scopes, where it is not "scope"',
    },
    {
      name: 'remote-auth-resource',
      type: 'string',
      placeholder: 'URI',
      emptyAllowed: true,
      help: "Resource indicator (RFC 8707) instead of the target's own; '' sends none",
    },
    {
      name: 'remote-auth-grant',
      type: 'choice',
      choices: ['authorization_code', 'client_credentials'],
      placeholder: 'GRANT',
      default: 'authorization_code',
      help: 'How a token is obtained',
    },
    {
      name: 'remote-auth-device',
      type: 'boolean',
      help: 'Sign in on another device, by a code (RFC 8628)',
    },
    {
      name: 'remote-auth-callback-port',
      type: 'port',
      placeholder: 'PORT',
      default: '8666',
      help: 'Port of the local server that the browser returns to',
    },
    {
      name: 'remote-auth-skip-browser',
      type: 'boolean',
      help: 'Print the sign-in URL and open no browser',
    },
    {
      name: 'remote-auth-timeout',
      type: 'duration',
      placeholder: 'DURATION',
      default: '30s',
      help: 'How long a sign-in may take',
    },
    {
      name: 'remote-auth-no-store',
      type: 'boolean',
      help: 'Keep tokens and registered clients in memory only',
    },
    {
      name: 'remote-auth-no-keyring',
      type: 'boolean',
      help: "Keep them in files of this user alone, not encrypted with a key in the operating system's keyring",
    },
    {
      name: 'remote-auth-allow-private-ip',
      type: 'boolean',
      help: 'What the target names for signing in may be at a private or loopback address',
    },
  ],
} as const satisfies OptionGroup
