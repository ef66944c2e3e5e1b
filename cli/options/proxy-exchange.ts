import type { OptionGroup } from './option.js'

/** OAuth 2.0 token exchange, RFC 8693. */
export const proxyExchangeGroup = {
  title: 'Token exchange',
  options: [
    {
      name: 'token-exchange-url',
      type: 'url',
      placeholder: 'URL',
      help: 'Token endpoint that exchanges tokens; turns the exchange on',
    },
    {
      name: 'token-exchange-audience',
      type: 'string',
      placeholder: 'AUDIENCE',
      help: 'Audience of the exchanged tokens',
    },
    {
      name: 'token-exchange-resource',
      type: 'string',
      placeholder: 'URI',
      help: 'Resource that the exchanged tokens are for',
    },
    {
      name: 'token-exchange-client-id',
      type: 'string',
      placeholder: 'ID',
      help: 'Client ID for the exchange',
    },
    {
      name: 'token-exchange-client-secret',
      type: 'string',
      placeholder: 'SECRET',
      secret: true,
      help: 'Client secret for the exchange; other users of this machine can see a flag, so prefer the file',
    },
    {
      name: 'token-exchange-client-secret-file',
      type: 'string',
      placeholder: 'FILE',
      help: 'File that holds the client secret for the exchange',
    },
    {
      name: 'token-exchange-scopes',
      type: 'list',
      placeholder: 'SCOPES',
      help: 'Scopes of the exchanged tokens',
    },
    {
      name: 'token-exchange-header-name',
      type: 'string',
      placeholder: 'NAME',
      default: 'Authorization',
      help: 'Header that carries the exchanged token',
    },
    {
      name: 'token-exchange-subject-token-type',
      type: 'choice',
      choices: [
        'access_token',
        'id_token',
        'urn:ietf:params:oauth:token-type:access_token',
        'urn:ietf:params:oauth:token-type:id_token',
      ],
      placeholder: 'TYPE',
      default: 'access_token',
      help: 'Type of the token that is exchanged',
    },
    {
      name: 'token-exchange-actor-token-file',
      type: 'string',
      placeholder: 'FILE',
      help: "File that holds the actor's token, for delegation",
    },
    {
      name: 'token-exchange-ca-cert',
      type: 'string',
      placeholder: 'FILE',
      help: 'CA certificates to trust for the token endpoint, instead of the usual ones',
    },
    {
      name: 'token-exchange-allow-private-ip',
      type: 'boolean',
      help: 'The token endpoint may be at a private or loopback address',
    },
  ],
} as const satisfies OptionGroup
