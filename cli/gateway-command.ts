import type { Addresses, List } from 'sallyport'
import type { Result } from './config/result.js'
import type { Io } from './io.js'
import type { Invocation } from './line/option.js'

/** A command that boots a list of plugins and runs until it is stopped. */
export interface GatewayCommand<Settings> {
  /** Reads flags, environment and files: at the start, and for each SIGHUP. */
  read(invocation: Invocation): Promise<Result<Settings>>
  list(settings: Settings): List
  /** On a terminal only errors are logged: other lines would stand between those of what it prints. */
  readonly quietOnTerminal?: true
  /**
   * Printed to stdout when the ports are open: where the gateway can be reached. A command without it uses stdout
   * for a protocol.
   */
  readyLine?(settings: Settings, addresses: Addresses, io: Io): string | undefined | Promise<string>
}
