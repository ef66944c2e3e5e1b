import type { Command } from '../line/option.js'
import { authCommand } from './auth/flags.js'
import { checkCommand } from './check/flags.js'
import { completionCommand } from './completion/flags.js'
import { doctorCommand } from './doctor/flags.js'
import { explainCommand } from './explain/flags.js'
import { migrateCommand } from './migrate/flags.js'
import { pluginNewCommand } from './plugin-new/flags.js'
import { pluginVerifyCommand } from './plugin-verify/flags.js'
import { pluginsCommand } from './plugins/flags.js'
import { proxyCommand } from './proxy/flags.js'
import { proxyStdioCommand } from './proxy-stdio/flags.js'
import { proxyTunnelCommand } from './proxy-tunnel/flags.js'
import { publishCommand } from './publish/flags.js'
import { quickstartCommand } from './quickstart/flags.js'
import { registryCommand } from './registry/flags.js'
import { runCommand } from './run/flags.js'
import { schemaCommand } from './schema/flags.js'
import { secretCommand } from './secret/flags.js'
import { tailCommand } from './tail/flags.js'
import { validateCommand } from './validate/flags.js'

/** The commands of `sallyport`, in the order of its help. A call imports the code of its command. */
export const commands: readonly Command[] = [
  { ...registryCommand, run: async () => (await import('./registry/run.js')).registry },
  { ...proxyCommand, run: async () => (await import('./proxy/run.js')).proxy },
  { ...proxyStdioCommand, run: async () => (await import('./proxy-stdio/run.js')).stdio },
  { ...proxyTunnelCommand, run: async () => (await import('./proxy-tunnel/run.js')).tunnel },
  { ...runCommand, run: async () => (await import('./run/run.js')).run },
  { ...quickstartCommand, run: async () => (await import('./quickstart/run.js')).quickstart },
  { ...publishCommand, run: async () => (await import('./publish/run.js')).publish },
  { ...explainCommand, run: async () => (await import('./explain/run.js')).explain },
  { ...tailCommand, run: async () => (await import('./tail/run.js')).tail },
  { ...checkCommand, run: async () => (await import('./check/run.js')).check },
  { ...validateCommand, run: async () => (await import('./validate/run.js')).validate },
  { ...doctorCommand, run: async () => (await import('./doctor/run.js')).doctor },
  { ...migrateCommand, run: async () => (await import('./migrate/run.js')).migrate },
  { ...pluginsCommand, run: async () => (await import('./plugins/run.js')).plugins },
  { ...pluginNewCommand, run: async () => (await import('./plugin-new/run.js')).pluginNew },
  { ...pluginVerifyCommand, run: async () => (await import('./plugin-verify/run.js')).pluginVerify },
  { ...schemaCommand, run: async () => (await import('./schema/run.js')).schema },
  { ...secretCommand, run: async () => (await import('./secret/run.js')).secret },
  { ...authCommand, run: async () => (await import('./auth/run.js')).auth },
  { ...completionCommand, run: async () => (await import('./completion/run.js')).completion },
]
