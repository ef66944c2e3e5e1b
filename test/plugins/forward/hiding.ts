import type { Entry, ListedSubject, Policy } from 'sallyport'
import { Policy as PolicyCapability } from 'sallyport'
import { providing } from '#kit/plugin.js'

/** These tests hide every name with an `x` in it. */
export const isShown = ({ name }: Pick<ListedSubject, 'name'>): boolean => !name.includes('x')

export const hiding: Policy = {
  judge: () => ({ allowed: true }),
  shows: (_caller, listed) => listed.map(isShown),
}

/** A plugin with a policy of the test. */
export const policy = (shows: Policy['shows'] = hiding.shows): Entry =>
  providing('hiding', PolicyCapability, { ...hiding, shows })
