import type { Capability } from '../contract/capability.js'
import { GatewayError } from '../contract/errors.js'

/** Compares the capabilities that a plugin declares and provides: without a declared guard every request would pass. */
export class Provisions {
  private readonly provided = new Set<symbol>()
  private closed = false

  constructor(private readonly declared: readonly Capability[]) {}

  /** Throws for a capability that the plugin did not declare, for no value, and after setup has ended. */
  add({ name, token }: Capability, value: unknown): void {
    if (this.closed)
      throw contractBroken(`${name} was provided after setup: it may be provided in setup only`)
    if (!this.declared.some((capability) => capability.token === token))
      throw contractBroken(`${name} was provided, but \`provides\` does not list it, or \`omits\` does`)
    if (value === undefined || value === null)
      throw contractBroken(`${name} was provided as ${value}: expected a value of the capability's type`)
    this.provided.add(token)
  }

  /** Ends the setup: throws if a declared capability is missing. */
  close(): void {
    this.closed = true
    const missing = this.declared.filter(({ token }) => !this.provided.has(token)).map(({ name }) => name)
    if (missing.length === 0) return
    throw contractBroken(
      `\`provides\` lists ${missing.join(', ')}, and setup did not provide it: call gateway.provide before setup ends, or return it from \`omits\` for options without it`,
    )
  }
}

export const contractBroken = (message: string): GatewayError => new GatewayError('CONTRACT_BROKEN', message)
