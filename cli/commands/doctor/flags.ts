import type { CommandDefinition, Option, OptionGroup } from '../../line/option.js'
import { asJson, configFile } from '../../line/shared-flags.js'
import { proxyCommand } from '../proxy/flags.js'

/** The flags of doctor itself; its other flags are those of a proxy. */
export const doctorGroup = {
  title: 'What to check',
  options: [configFile, asJson],
} as const satisfies OptionGroup

// All flags of `sallyport proxy`, none required: doctor also examines a command line that would not start.
const doctorGroups: readonly OptionGroup[] = [
  doctorGroup,
  ...proxyCommand.groups.map(({ title, options }) => ({
    title,
    options: options.filter(({ name }) => name !== 'print-plugins' && name !== 'config').map(optional),
  })),
]

function optional(option: Option): Option {
  const { required: _, ...rest } = option
  return rest
}

export const doctorCommand: CommandDefinition = {
  name: 'doctor',
  summary: 'Check what a gateway depends on, and print how to fix what is wrong',
  description:
    'Checks every provider, target and source of a file or of a proxy command line: names, ports, certificates, discovery, keys, introspection, clocks, the documents of files and git repositories, and discovery from a 401 to the authorization server as an MCP client does it. One line each. The exit code is 1 when something is wrong; a refused document is a warning, unless its source has no other document.',
  positionals: [{ name: 'SERVER_NAME', help: 'the name of the proxy, as `sallyport proxy` has it' }],
  groups: doctorGroups,
  examples: [
    'sallyport doctor --config registry.yaml',
    'sallyport doctor github --target-uri https://mcp.example.com/mcp --json',
  ],
}
