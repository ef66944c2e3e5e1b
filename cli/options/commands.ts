import { gatewayCommands } from './gateway-commands.js'
import type { Command } from './option.js'
import { toolCommands } from './tool-commands.js'

/** Everything that `sallyport` can be told to do. */
export const commands: readonly Command[] = [...gatewayCommands, ...toolCommands]
