import { oauth, plainHttp, targetTls } from '#plugins/presets/proxy/table.js'
import type { CommandDefinition, Option } from '../../line/option.js'
import { asJson, general } from '../../line/shared-flags.js'

const [own, everywhere] = general(
  {
    name: 'registry',
    type: 'url',
    required: true,
    help: 'The registry, such as https://registry.example.com/registry/default; the same with /v0.1 or /v0 behind it',
  },
  {
    name: 'status',
    type: 'choice',
    choices: ['active', 'deprecated', 'deleted'],
    flagOnly: true,
    help: 'Publish nothing; set the status of NAME@VERSION, or of all versions of NAME',
  },
  {
    name: 'message',
    type: 'string',
    flagOnly: true,
    help: 'With --status: the reason, for readers of the registry',
  },
  {
    name: 'dry-run',
    type: 'boolean',
    flagOnly: true,
    help: 'Change nothing: check the file here and at the registry, and print what would change',
  },
  {
    name: 'token-file',
    type: 'string',
    placeholder: 'FILE',
    help: 'File that holds a token for the registry, such as in a pipeline, instead of signing in',
  },
  asJson,
)

/** The groups whose values have types. */
export const ownGroups = [own, everywhere] as const

const OMITTED_FLAGS: readonly string[] = ['remote-auth', 'remote-auth-scope-param-name']

/** Milliseconds that a person has for signing in, without the flag. */
export const SIGN_IN_TIMEOUT = 600_000

const signInTimeout: Partial<Option> = {
  default: '10m',
  help: 'How long to wait for the person who signs in',
}

/** The flags by which the proxy signs in. Here sign-in is always on, and its timeout is longer. */
export const signInFlags: readonly Option[] = oauth.options
  .filter(({ name }) => !OMITTED_FLAGS.includes(name))
  .map((option) => ({ ...option, ...(option.name === 'remote-auth-timeout' && signInTimeout) }))

export const connectionFlags: readonly Option[] = [...targetTls, ...plainHttp]

export const publishCommand: CommandDefinition = {
  name: 'publish',
  summary: 'Publish a server.json to a registry, or set the status of what was published',
  description:
    'Checks the file as validate does, signs in where the registry asks for it, publishes, and prints what changed. It signs in as proxy --remote-auth does, in a browser or with --remote-auth-device on another device, and stores the login where the proxy stores it: the next run needs no sign-in. With --status it deprecates, withdraws or restores published versions. The exit code is 0 on success, 1 when the file has issues, the registry refuses or cannot be reached, and 2 when the command line is wrong.',
  positionals: [
    {
      name: 'FILE',
      help: 'the server.json; with --status NAME@VERSION, or NAME for all versions',
      required: true,
    },
  ],
  groups: [
    own,
    { title: 'Signing in, as the proxy does', options: signInFlags },
    { title: 'The connection', options: connectionFlags },
    everywhere,
  ],
  examples: [
    'sallyport publish server.json \\\n  --registry https://mcp.example.com/registry/default',
    '# what would change',
    'sallyport publish server.json --dry-run \\\n  --registry https://mcp.example.com/registry/default',
    '# in a pipeline, with the token of the job',
    'sallyport publish server.json --token-file ./token \\\n  --registry https://mcp.example.com/registry/default',
    '# withdraw a version, and say why',
    'sallyport publish com.example/weather@1.0.0 --status deleted \\\n  --message "it leaks" --registry https://mcp.example.com/registry/default',
  ],
}
