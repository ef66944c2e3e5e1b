import type { CommandDefinition } from '../../line/option.js'
import { asJson, configFile, general } from '../../line/shared-flags.js'

export const authCommand = {
  name: 'auth',
  summary: 'Show, encrypt and delete stored logins, and revoke people who signed in',
  description:
    "The logins of this gateway at its targets: list shows those that are stored for --remote-auth and for targets that required one, logout deletes those of one target. With seal it encrypts logins that were stored before there was a key, and shows them: if you do not know a login, somebody else has put it there. A running proxy keeps its logins in memory; logout revokes no token at the issuer. The people who sign in at the gateway's own authorization server (broker): sessions lists their sign-ins, and revoke ends all those of a person, or one. Within 5 s every process of the gateway refuses their access tokens and ends their open requests; their refresh tokens give nothing. Whoever signs in again gets in again: block the account at the identity provider too. Both use the state store and the key file of --config.",
  positionals: [
    {
      name: 'ACTION',
      help: 'what to do',
      required: true,
      choices: ['list', 'seal', 'logout', 'sessions', 'revoke'],
    },
    { name: 'TARGET', help: 'with logout: the target as the list shows it, or all' },
  ],
  groups: general(
    {
      ...configFile,
      help: 'Use the state store of this file, in YAML or JSON; needed for sessions and revoke',
    },
    {
      name: 'subject',
      type: 'string',
      flagOnly: true,
      help: 'With revoke: the person with this subject, as sessions shows it',
    },
    {
      name: 'idp',
      type: 'string',
      flagOnly: true,
      placeholder: 'ISSUER',
      help: 'With --subject: the identity provider of that person; without it the one where people sign in',
    },
    {
      name: 'name',
      type: 'string',
      flagOnly: true,
      help: 'With revoke: the person with this name, as sessions shows it, or with this e-mail',
    },
    {
      name: 'session',
      type: 'string',
      flagOnly: true,
      placeholder: 'ID',
      help: 'With revoke: one sign-in, by its id',
    },
    { ...asJson, help: 'With sessions: print JSON, for programs' },
  ),
  examples: [
    'sallyport auth list',
    'sallyport auth logout https://mcp.example.com/mcp',
    'sallyport auth sessions --config gateway.yaml',
    'sallyport auth revoke --config gateway.yaml --name alice@example.com',
  ],
} as const satisfies CommandDefinition
