import { many } from '../capability.js'

/** What a sync may know before it starts. */
export interface SyncContext {
  /** Aborted when the gateway stops, and when the sync has taken too long. */
  readonly signal: AbortSignal
  /** What the last good sync left for this one, also over a restart. */
  readonly bookmark: string | undefined
  /** How many server versions are held from this source. */
  readonly held: number
}

/**
 * What a source found. Payloads are JSON in UTF-8, each a server document, a list of them, or the form in which
 * a registry answers (`{"servers":[{"server":...,"_meta":...}]}`); their values are served byte for byte.
 */
export type Fetched =
  | { readonly kind: 'unchanged' }
  | {
      /** `whole`: what is not in it is gone. `changes`: it is laid over what is held. */
      readonly kind: 'whole' | 'changes'
      readonly payloads: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
      /** The memory of the payloads is the reader's from now on, who writes to it and moves it to another thread. */
      readonly handedOver?: boolean
      /** The date of documents that bring none of their own. */
      readonly asOf?: Date
      /** Asked when the payloads are used up: what the next sync wants to know. It holds no secret. */
      bookmark?(): string
    }

/**
 * A place where server documents come from. It reads and hands over; it judges no document, keeps no schedule
 * and catches nothing: what it throws leaves everything as it was, and an `UpstreamError` may say when to come again.
 */
export interface Source {
  /** The name that registries list it by. */
  readonly name: string
  /** Which place this is, without secrets. What was kept for another place is not used for this one. */
  readonly place: string
  /** Milliseconds from one sync to the next; without it only `watch` and a request from outside cause one. */
  readonly every?: number | undefined
  fetch(context: SyncContext): Promise<Fetched>
  /** Calls `changed` whenever a sync is worth it, until the function that it returns is called. */
  watch?(changed: () => void): () => void
}

export const Source = many<Source>('source')
