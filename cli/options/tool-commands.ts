import { checkGroups } from './check.js'
import { doctorGroups } from './doctor.js'
import { explainGroups } from './explain.js'
import type { Command, OptionGroup } from './option.js'
import { newPluginGroups, verifyGroups } from './plugin.js'
import { pluginsGroups, schemaGroups } from './plugins.js'
import { secretsGroups } from './secrets.js'
import { sharedGroup } from './shared.js'

const shells = ['bash', 'zsh', 'fish'] as const

const authGroups = [sharedGroup] as const satisfies readonly OptionGroup[]

const completionGroups = [sharedGroup] as const satisfies readonly OptionGroup[]

/** The commands that do one thing and end. */
export const toolCommands: readonly Command[] = [
  {
    name: 'explain',
    summary: 'Tell why a token is accepted or refused',
    description:
      'Judges a token by the providers of a configuration file, as the gateway would, and prints what each of them looked at. The token comes from standard input or a file, since other users of this machine can see a command line.',
    positionals: [],
    groups: explainGroups,
    examples: [
      'sallyport explain --config registry.yaml < token',
      'sallyport explain --config gateway.yaml --token-file ./token',
    ],
    run: async () => (await import('../commands/explain.js')).explain,
  },
  {
    name: 'check',
    summary: 'Tell what is wrong with a configuration file, without starting it',
    description:
      'Reads a file as the gateway would, loads every plugin it names and holds their options and needs against each other. Nothing is opened and nobody is asked. Everything that is wrong is told at once, and the exit code is 2.',
    positionals: [],
    groups: checkGroups,
    examples: ['sallyport check --config registry.yaml', 'sallyport check --config gateway.yaml'],
    run: async () => (await import('../commands/check.js')).check,
  },
  {
    name: 'doctor',
    summary: 'Look at what a gateway needs around it, and say what to do about what is wrong',
    description:
      'Asks every provider, target and source of a file or of a proxy command line: names, ports, certificates, discovery, keys, introspection, clocks, and the way from a 401 to the authorization server as an MCP client goes it. One line each. The exit code is 1 when something is wrong.',
    positionals: [{ name: 'SERVER_NAME', help: 'the name of the proxy, as `sallyport proxy` has it' }],
    groups: doctorGroups,
    examples: [
      'sallyport doctor --config registry.yaml',
      'sallyport doctor github --target-uri https://mcp.example.com/mcp --json',
    ],
    run: async () => (await import('../commands/doctor.js')).doctor,
  },
  {
    name: 'plugins',
    summary: 'List the plugins that a file may name, with their options',
    description:
      'Lists the built-in plugins, and with --config those that a file brings, each with its version, API level and options. With a name it tells everything about one.',
    positionals: [{ name: 'NAME', help: 'one plugin, as `use` names it' }],
    groups: pluginsGroups,
    examples: [
      'sallyport plugins',
      'sallyport plugins auth/oidc',
      'sallyport plugins --config gateway.yaml --json',
    ],
    run: async () => (await import('../commands/plugins.js')).plugins,
  },
  {
    name: 'plugin new',
    summary: 'Write a plugin that works, with its test, into a folder of its own',
    description:
      'Writes a plugin in TypeScript with its test, its package.json and a README into a new folder below this one.',
    positionals: [
      { name: 'NAME', help: 'the name of the plugin, its folder and its package', required: true },
    ],
    groups: newPluginGroups,
    examples: ['sallyport plugin new my-guard', 'sallyport plugin new api-keys --kind authenticator'],
    run: async () => (await import('../commands/plugin-new.js')).pluginNew,
  },
  {
    name: 'plugin verify',
    summary: 'Hold a plugin against its contract',
    description:
      'Loads a plugin, looks at its options, sets it up and stops it twice, asks it what it must be able to answer, and looks for what it leaves open and for secrets in the log. The exit code is 1 when something is wrong. TypeScript runs where Node runs it, from 22.18 on; build it elsewhere.',
    positionals: [{ name: 'PATH', help: 'the file of the plugin, or its folder', required: true }],
    groups: verifyGroups,
    examples: [
      'sallyport plugin verify ./my-guard',
      'sallyport plugin verify ./my-guard/dist/index.js --with options.yaml',
    ],
    run: async () => (await import('../commands/plugin-verify.js')).pluginVerify,
  },
  {
    name: 'schema',
    summary: "Print the editor's JSON Schema of a configuration file",
    description:
      "Prints a JSON Schema (2020-12) that holds the options of every plugin, with --config those of the file's own plugins too. Editors that know YAML take it from a comment in the first line: # yaml-language-server: $schema=registry.schema.json",
    positionals: [{ name: 'KIND', help: 'whose file', required: true, choices: ['registry', 'run'] }],
    groups: schemaGroups,
    examples: [
      'sallyport schema registry > registry.schema.json',
      'sallyport schema run --config gateway.yaml > gateway.schema.json',
    ],
    run: async () => (await import('../commands/schema.js')).schema,
  },
  {
    name: 'secret',
    summary: "Keep secrets in the operating system's keyring, or in an encrypted file",
    description:
      'Keeps the values that --remote-forward-headers-secret names. A value is read from standard input, or asked for; never from the command line.',
    positionals: [
      { name: 'ACTION', help: 'what to do', required: true, choices: ['set', 'get', 'list', 'rm'] },
      { name: 'NAME', help: 'the name of the secret; not with list' },
    ],
    groups: secretsGroups,
    examples: [
      'sallyport secret set github-token < token.txt',
      'sallyport secret list',
      'sallyport proxy github --target-uri https://mcp.example.com/mcp \\\n  --remote-forward-headers-secret X-Api-Key=github-token',
    ],
    run: async () => (await import('../commands/secret.js')).secret,
  },
  {
    name: 'auth',
    summary: 'Show, encrypt and drop the logins that the proxy keeps',
    description:
      'Shows the logins that are kept for --remote-auth and for targets that asked for one, or drops those of one target. With seal it encrypts the ones that were kept before there was a key, and shows them: a login that you do not know was planted. A proxy that runs keeps what it has in memory; the issuer is not told.',
    positionals: [
      { name: 'ACTION', help: 'what to do', required: true, choices: ['list', 'seal', 'logout'] },
      { name: 'TARGET', help: 'with logout: the target as the list shows it, or all' },
    ],
    groups: authGroups,
    examples: ['sallyport auth list', 'sallyport auth logout https://mcp.example.com/mcp'],
    run: async () => (await import('../commands/auth.js')).auth,
  },
  {
    name: 'completion',
    summary: 'Print a completion script for a shell',
    description: 'Prints a script that lets a shell complete commands, flags, choices and files.',
    positionals: [{ name: 'SHELL', help: 'the shell', required: true, choices: shells }],
    groups: completionGroups,
    examples: [
      'source <(sallyport completion bash)',
      'sallyport completion zsh > ~/.zfunc/_sallyport',
      'sallyport completion fish > ~/.config/fish/completions/sallyport.fish',
    ],
    run: async () => (await import('../commands/completion.js')).completion,
  },
]
