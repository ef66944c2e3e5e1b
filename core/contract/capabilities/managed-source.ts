import { many } from '../capability.js'
import type { Publications } from './publications.js'

/** A source that people publish to. */
export interface ManagedSource {
  /** The name of the source. */
  readonly name: string
  readonly publications: () => Publications
}

export const ManagedSource = many<ManagedSource>('managed source')
