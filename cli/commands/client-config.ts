import { resolve } from 'node:path'
import { addressText } from '../options/address.js'
import { environmentNames } from '../options/environment.js'
import type { Given, Invocation, Option } from '../options/option.js'

const ABOUT_THE_PRINTING = ['print-client-config', 'print-plugins', 'help', 'version']

/** What common clients want in their configuration in order to start the same command, with its flags as they were given. */
export function clientConfig({ command, given, positionals: [name = 'mcp'] }: Invocation): string {
  const flags = command.groups
    .flatMap((group): readonly Option[] => group.options)
    .filter(({ name: flag }) => !ABOUT_THE_PRINTING.includes(flag) && given.get(flag)?.source === 'flag')
  const args = flags
    .filter(({ secret }) => secret !== true)
    .flatMap((option) => textsOf(option, given.get(option.name)).map((text) => `--${option.name}${text}`))
  // A file that people share and back up is no place for a secret; neither is the screen.
  const secrets = flags
    .filter(({ secret }) => secret === true)
    .flatMap((option) => environmentNames(option).slice(0, 1))
  const server = {
    command: 'sallyport',
    args: [...command.name.split(' '), ...args, name],
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

/** How a value is written behind its flag. */
function textsOf({ type, placeholder }: Option, option: Given | undefined): string[] {
  const value = option?.value
  if (value === undefined || value === false) return []
  if (value === true) return ['']
  if (Array.isArray(value)) {
    return value.map((item) => `=${typeof item === 'string' ? item : `${item.name}=${item.value}`}`)
  }
  if (typeof value === 'object') return 'port' in value ? [`=${addressText(value)}`] : []
  if (type === 'duration' && typeof value === 'number') return [`=${value}ms`]
  // The client starts the command from a folder of its own.
  const isPath = placeholder === 'FILE' || placeholder === 'DIR'
  return [`=${isPath && typeof value === 'string' ? resolve(value) : value}`]
}
