// tsyringe reads the metadata API when it loads, so this import comes first.
import 'reflect-metadata'
import { type DependencyContainer, container as root } from 'tsyringe'
import type { Capability, Many, One } from '../contract/capability.js'

/** The values that plugins provide in one scope and in its outer scopes, by symbol. It constructs nothing. */
export class Container {
  private constructor(
    private readonly inner: DependencyContainer,
    private readonly outer?: Container,
  ) {}

  /** An empty container for one boot. It is a child of tsyringe's own, so two boots share nothing. */
  static create(): Container {
    return new Container(root.createChildContainer())
  }

  child(): Container {
    return new Container(this.inner.createChildContainer(), this)
  }

  provide(capability: Capability, value: unknown): void {
    this.inner.register(capability.token, { useFactory: () => value })
  }

  /** Whether this scope itself provides the capability, whatever outer scopes provide. */
  holds(capability: Capability): boolean {
    return this.inner.isRegistered(capability.token)
  }

  one<T>(capability: One<T>): T | undefined {
    if (!this.inner.isRegistered(capability.token, true)) return undefined
    return this.inner.resolve<T>(capability.token)
  }

  /** In list order, the outer scope's first. tsyringe's own `resolveAll` hides a parent's behind a child's. */
  many<T>(capability: Many<T>): T[] {
    const outside = this.outer?.many(capability) ?? []
    return this.holds(capability) ? [...outside, ...this.inner.resolveAll<T>(capability.token)] : outside
  }
}
