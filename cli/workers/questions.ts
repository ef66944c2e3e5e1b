import type { HealthState } from 'sallyport'
import type { Hand } from './hand.js'
import type { Answer, OwnAnswer, Question } from './messages.js'
import type { Tally, Told } from './tally.js'

// A worker that does not answer by then hangs. What is not a GET may take as long as it takes.
const PATIENCE = 2_000

interface Reply {
  readonly hand: Hand
  readonly answer: OwnAnswer | undefined
}

interface Crew {
  readonly up: readonly Hand[]
  readonly health: HealthState
}

/** Puts each question that comes in on the internal port to every worker, and makes one answer of theirs. */
export class Questions {
  constructor(
    private readonly crew: Crew,
    private readonly tally: Tally,
    private readonly ownMetrics: () => string,
  ) {}

  async answer(question: Question): Promise<Answer> {
    const { method, url } = question
    const limit = method === 'GET' || method === 'HEAD' ? PATIENCE : undefined
    const replies = await Promise.all(
      this.crew.up.map(async (hand): Promise<Reply> => ({ hand, answer: await hand.ask(question, limit) })),
    )
    const answers = replies.flatMap(({ answer }) => answer ?? [])
    if (/^\/readiness(?:\?|$)/.test(url) && answers.every(isReadiness)) return this.readiness(replies)
    return method === 'GET' && answers.some(isExposition) ? this.metrics(replies) : worstOf(answers)
  }

  /** As bad as the worst of them, with the checks of all. */
  private readiness(replies: readonly Reply[]): Answer {
    const states = new Map<string, HealthState>()
    for (const { hand, answer } of replies) {
      for (const [name, state] of checksOf(hand, answer)) {
        const known = states.get(name)
        if (known === undefined || (state.status === 'down' && known.status !== 'down'))
          states.set(name, state)
      }
    }
    const { health } = this.crew
    if (health.status !== 'ok') states.set('workers', health)
    const down = [...states.values()].some(({ status }) => status === 'down')
    const checks = states.size > 0 && { checks: Object.fromEntries(states) }
    const body = down ? { error: 'service not ready', ...checks } : { status: 'ready', ...checks }
    return { status: down ? 503 : 200, headers: JSON_HEADERS, body: JSON.stringify(body) }
  }

  private metrics(replies: readonly Reply[]): Answer {
    const told = replies.flatMap(({ hand, answer }): Told[] =>
      answer === undefined || !isExposition(answer)
        ? []
        : [{ process: hand.id, boot: answer.boot, worker: hand.number, text: answer.body }],
    )
    const own: Told = { process: 0, boot: 0, text: this.ownMetrics() }
    return { status: 200, headers: METRICS_HEADERS, body: this.tally.text([...told, own]) }
  }
}

export const isExposition = ({ status, headers }: Answer): boolean =>
  status === 200 && String(headers['content-type']).startsWith(EXPOSITION)

const EXPOSITION = 'text/plain; version=0.0.4'
const METRICS_HEADERS = { 'content-type': `${EXPOSITION}; charset=utf-8` }

const isReadiness = ({ status, headers }: Answer): boolean =>
  (status === 200 || status === 503) && String(headers['content-type']).startsWith('application/json')

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' }

/** What went wrong in one worker went wrong. */
function worstOf(answers: readonly Answer[]): Answer {
  const [worst] = answers.toSorted((a, b) => b.status - a.status)
  const body = JSON.stringify({ error: 'unavailable', error_description: 'no worker answers' })
  return worst ?? { status: 503, headers: JSON_HEADERS, body }
}

function checksOf({ number }: Hand, answer: OwnAnswer | undefined): [string, HealthState][] {
  if (answer === undefined) return [[`worker ${number}`, { status: 'down', reason: 'it does not answer' }]]
  const { checks = {} }: { checks?: Readonly<Record<string, HealthState>> } = JSON.parse(answer.body)
  return Object.entries(checks)
}
