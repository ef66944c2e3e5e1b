import { ManagedSource } from '../contract/capabilities/managed-source.js'
import { type ConformanceSuite, hasName } from './requirement.js'

export const managedSourceConformance: ConformanceSuite<ManagedSource> = {
  capability: ManagedSource,
  requirements: [
    hasName('MANAGED_SOURCE_UNNAMED'),
    {
      code: 'PUBLICATIONS_MISSING',
      statement: 'has what is published in it once the list is started, and always the same',
      advice: 'open it in `onStart`, once: a second one may be refused where it is in use',
      check(source) {
        const publications = source.publications()
        return publications === source.publications() ? undefined : 'each call has other ones'
      },
    },
  ],
}
