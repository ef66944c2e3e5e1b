import { AccessSink } from '../contract/capabilities/access-sink.js'
import { AuditSink } from '../contract/capabilities/audit-sink.js'
import { Authenticator } from '../contract/capabilities/authenticator.js'
import { BackgroundTask } from '../contract/capabilities/background-task.js'
import { BrowserSession } from '../contract/capabilities/browser-session.js'
import { CallerTokens } from '../contract/capabilities/caller-tokens.js'
import { CatalogueStore } from '../contract/capabilities/catalogue-store.js'
import { Challenge } from '../contract/capabilities/challenge.js'
import { ClientRegistrar } from '../contract/capabilities/client-registrar.js'
import { Credential } from '../contract/capabilities/credential.js'
import { Guard } from '../contract/capabilities/guard.js'
import { HeaderSource } from '../contract/capabilities/header-source.js'
import { Health } from '../contract/capabilities/health.js'
import { IssuerMetadata } from '../contract/capabilities/issuer-metadata.js'
import { Limiter } from '../contract/capabilities/limiter.js'
import { Listener } from '../contract/capabilities/listener.js'
import { LoginProvider } from '../contract/capabilities/login-provider.js'
import { ManagedSource } from '../contract/capabilities/managed-source.js'
import { Policy } from '../contract/capabilities/policy.js'
import { PublicAddress } from '../contract/capabilities/public-address.js'
import { PublicPath } from '../contract/capabilities/public-path.js'
import { PublicationStore } from '../contract/capabilities/publications.js'
import { ResourceMetadata } from '../contract/capabilities/resource-metadata.js'
import { Revocation } from '../contract/capabilities/revocation.js'
import { SecretStore } from '../contract/capabilities/secret-store.js'
import { ServerCatalogue } from '../contract/capabilities/server-catalogue.js'
import { Source } from '../contract/capabilities/source.js'
import { StateStore } from '../contract/capabilities/state-store.js'
import { Telemetry } from '../contract/capabilities/telemetry.js'
import { Tracer } from '../contract/capabilities/tracer.js'
import { Tunnel } from '../contract/capabilities/tunnel.js'
import type { Capability } from '../contract/capability.js'
import type { Plugin } from '../contract/plugin.js'

export const builtInCapabilities: readonly Capability[] = [
  AccessSink,
  AuditSink,
  Authenticator,
  BackgroundTask,
  BrowserSession,
  CallerTokens,
  CatalogueStore,
  Challenge,
  ClientRegistrar,
  Credential,
  Guard,
  HeaderSource,
  Health,
  IssuerMetadata,
  Limiter,
  Listener,
  LoginProvider,
  Policy,
  ManagedSource,
  PublicAddress,
  PublicationStore,
  PublicPath,
  ResourceMetadata,
  Revocation,
  SecretStore,
  ServerCatalogue,
  Source,
  StateStore,
  Telemetry,
  Tracer,
  Tunnel,
]

/**
 * For a built-in capability the list above decides: a plugin could declare the same capability again, as an observer.
 */
function isObserver(capability: Capability): boolean {
  const { token } = capability
  const declared = builtInCapabilities.find((builtIn) => builtIn.token === token) ?? capability
  return declared.kind === 'many' && declared.observes === true
}

export const onlyObserves = ({ provides = [] }: Plugin): boolean =>
  provides.length > 0 && provides.every(isObserver)

interface Named {
  readonly id: string
  readonly plugin: Plugin
}

/** Another entry that requires a capability of this one, or declares the same capability without `observes`. */
export function dependentOn(entry: Named, entries: readonly Named[]): Named | undefined {
  const provided = new Set(entry.plugin.provides?.map(({ token }) => token))
  const isProvided = ({ token }: Capability): boolean => provided.has(token)
  return entries.find(
    (other) =>
      other !== entry &&
      (other.plugin.requires?.some(isProvided) === true ||
        other.plugin.provides?.some((capability) => isProvided(capability) && !isObserver(capability)) ===
          true),
  )
}
