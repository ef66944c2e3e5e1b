import type { Capability } from '../contract/capability.js'
import { GatewayError } from '../contract/errors.js'

/** What one plugin declares and provides. A check that is declared and missing would let everything pass. */
export class Provisions {
  private readonly provided = new Set<symbol>()
  private closed = false

  constructor(private readonly declared: readonly Capability[]) {}

  /** Refuses what the plugin did not declare, what is no value, and what comes after its setup. */
  add({ name, token }: Capability, value: unknown): void {
    if (this.closed) throw misuse(`${name} was provided after setup: it may be provided in setup only`)
    if (!this.declared.some((capability) => capability.token === token))
      throw misuse(`${name} was provided, but \`provides\` does not list it, or \`omits\` does`)
    if (value === undefined || value === null)
      throw misuse(`${name} was provided as ${value}: expected what the capability describes`)
    this.provided.add(token)
  }

  /** Ends the setup: throws when something that was declared is missing. */
  close(): void {
    this.closed = true
    const missing = this.declared.filter(({ token }) => !this.provided.has(token)).map(({ name }) => name)
    if (missing.length === 0) return
    throw misuse(
      `\`provides\` lists ${missing.join(', ')}, and setup did not provide it: call gateway.provide before setup ends, or return it from \`omits\` for options without it`,
    )
  }
}

export const misuse = (message: string): GatewayError => new GatewayError('CONTRACT_BROKEN', message)
