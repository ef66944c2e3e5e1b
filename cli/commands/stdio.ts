import { type StdioSettings, StdioSettings as schema, stdio as stdioList } from 'sallyport/presets/stdio'
import { type Preset, runGateway } from '../gateway.js'
import type { Invocation } from '../options/option.js'
import { tell } from '../terminal.js'
import { clientConfig } from './client-config.js'
import { readProxySettings } from './proxy.js'

/** Is an MCP server on standard input and output, for clients that can only start a command. */
export async function stdio(invocation: Invocation): Promise<number> {
  if (invocation.given.get('print-client-config')?.value !== true) return runGateway(preset, invocation)
  const outcome = await preset.read(invocation)
  if ('problems' in outcome) return tell(outcome.problems)
  process.stdout.write(clientConfig(invocation))
  return 0
}

// No ready line: stdout belongs to the protocol.
const preset: Preset<StdioSettings> = {
  read: async (invocation) => readProxySettings(invocation, schema),
  list: stdioList,
}
