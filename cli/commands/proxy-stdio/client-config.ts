import { formatHostPort } from '#core/toolkit/host-port.js'
import { fromWorkingFolder } from '../../config/plugin-flag.js'
import { environmentNames } from '../../line/environment.js'
import type { Invocation, Option, ResolvedOption } from '../../line/option.js'

const NOT_REPEATED = ['print-client-config', 'print-plugins', 'help', 'version']

/** The configuration with which common clients start the same command, with the same flags. */
export function clientConfig(
  { command, options, positionals: [name = 'mcp'] }: Invocation,
  [program, ...leading]: readonly [command: string, ...args: string[]],
): string {
  const flags = command.groups
    .flatMap((group): readonly Option[] => group.options)
    .filter(({ name: flag }) => !NOT_REPEATED.includes(flag) && options.get(flag)?.source === 'flag')
  const args = flags
    .filter(({ secret }) => secret !== true)
    .flatMap((option) => textsOf(option, options.get(option.name)).map((text) => `--${option.name}${text}`))
  // People share and back up these files.
  const secrets = flags
    .filter(({ secret }) => secret === true)
    .flatMap((option) => environmentNames(option).slice(0, 1))
  const server = {
    command: program,
    args: [...leading, ...command.name.split(' '), ...args, name],
    ...(secrets.length > 0 && {
      env: Object.fromEntries(secrets.map((variable) => [variable, 'PUT THE SECRET HERE'])),
    }),
  }
  return [
    'Claude Desktop (claude_desktop_config.json), Claude Code (.mcp.json), Cursor (.cursor/mcp.json):',
    JSON.stringify({ mcpServers: { [name]: server } }, null, 2),
    '',
    'VS Code (.vscode/mcp.json):',
    JSON.stringify({ servers: { [name]: { type: 'stdio', ...server } } }, null, 2),
    '',
  ].join('\n')
}

/** The values of an option as arguments. */
function textsOf(option: Option, resolved: ResolvedOption | undefined): string[] {
  const { type } = option
  const value = resolved?.value
  if (value === undefined || value === false) return []
  if (value === true) return ['']
  // Absolute, since the client starts the command in another folder.
  const written = (text: string): string => `=${fromWorkingFolder(option, text)}`
  if (Array.isArray(value)) {
    return value.map((item) => (typeof item === 'string' ? written(item) : `=${item.name}=${item.value}`))
  }
  if (typeof value === 'object') return 'port' in value ? [`=${formatHostPort(value)}`] : []
  if (type === 'duration' && typeof value === 'number') return [`=${value}ms`]
  return [written(String(value))]
}
