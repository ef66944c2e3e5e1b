import { StdioSettings, stdio as stdioList } from 'sallyport/presets/stdio'
import { proxyTable } from '#plugins/presets/proxy/table.js'
import { planOf } from '../../config/all-problems.js'
import { readPreset } from '../../config/preset-settings.js'
import { mapped } from '../../config/result.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { programCommand } from '../../program-name.js'
import { type GatewayCommand, runGateway } from '../../run-gateway.js'
import { printProblems } from '../../terminal.js'
import { clientConfig } from './client-config.js'

/** An MCP server on standard input and output, for clients that can only start a command. */
export async function stdio(invocation: Invocation, io: Io): Promise<number> {
  if (invocation.options.get('print-client-config')?.value !== true)
    return runGateway(command, invocation, io)
  const checked = await planOf(mapped(await command.read(invocation), stdioList))
  if ('problems' in checked) return printProblems(checked.problems, io)
  io.stdout.write(clientConfig(invocation, programCommand(io.started, io.env)))
  return 0
}

// No ready line: stdout belongs to the protocol.
const command: GatewayCommand<StdioSettings> = {
  read: (invocation) => readPreset({ table: proxyTable, schema: StdioSettings }, invocation),
  list: stdioList,
}
