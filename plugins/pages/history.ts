import type {
  Log,
  ManagedSource,
  PublicationActor,
  PublicationEvent,
  PublicationState,
  RegistryView,
  VersionKey,
} from 'sallyport'
import { type Html, html, within } from 'sallyport/toolkit'

/** Milliseconds that a page waits for the history: the page is complete without it. */
const LIMIT = 1_000
const MOST = 50

/** The events of a server, newest first; `none` when people do not publish it here. */
export type History = PublishedHere | 'none' | 'unavailable'

interface PublishedHere {
  readonly events: readonly PublicationEvent[]
  /** The publisher of the shown version. */
  readonly publisher: PublicationActor | undefined
}

/** Reads the history of servers from a managed source; servers of other sources have none. */
export class HistoryReader {
  constructor(
    private readonly sources: () => readonly ManagedSource[],
    private readonly log: Log,
  ) {}

  async of(view: RegistryView, key: VersionKey): Promise<History> {
    const sources = this.sources()
    if (sources.length === 0) return 'none'
    const name = view.sourceOf?.(key.name)
    const source = sources.find((each) => each.name === name)
    if (source === undefined) return 'none'
    try {
      const late = (): Error => new Error(`no answer within ${LIMIT / 1000} s`)
      const publications = source.publications()
      const both = Promise.all([publications.history(key.name, MOST), publications.publisher(key)])
      const [events, publisher] = await within(LIMIT, both, late)
      return { events, publisher }
    } catch (err) {
      this.log.warn({ err, source: source.name }, 'the history of a server could not be read')
      return 'unavailable'
    }
  }
}

/** A date as people read it; empty for an invalid date, and for 1970-01-01, which stands for an unknown one. */
export function dateView(text: string | undefined): Html | '' {
  const date = new Date(text ?? Number.NaN)
  if (!(date.getTime() > 0)) return ''
  const iso = date.toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`
}

// Isolated: the text direction of a name must not affect the words around it.
export const actorView = ({ subject, provider }: PublicationActor): Html =>
  html`<bdi>${subject}</bdi> (<bdi>${provider}</bdi>)`

export function historyView(history: History): Html | '' {
  if (history === 'none') return ''
  if (history === 'unavailable')
    return html`<h2>History</h2>
<p class="quiet">It cannot be read at the moment. Everything else on this page is as it was published.</p>`
  const { events } = history
  if (events.length === 0) return ''
  return html`<h2>History</h2>
<ul class="history">${events.map(eventView)}</ul>
${events.length >= MOST && html`<p class="quiet">These are the last ${MOST} changes.</p>`}`
}

const eventView = ({ at, version, versions, action, actor, after }: PublicationEvent): Html => html`<li>
${dateView(at)} ${versions === undefined ? html`<bdi>${version}</bdi>` : `${versions.length} versions`} ${doneView(action, after)} by ${actorView(actor)}${
  after.statusMessage !== undefined && html`: <bdi>${after.statusMessage}</bdi>`
}</li>`

function doneView(action: PublicationEvent['action'], { status }: PublicationState): string {
  if (action === 'publish') return 'published'
  return action === 'purge' ? 'purged' : `set to ${status}`
}
