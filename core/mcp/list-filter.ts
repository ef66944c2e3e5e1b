import { setImmediate } from 'node:timers/promises'
import type { ListedSubject, Policy, PolicyCaller } from '../contract/capabilities/policy.js'
import { isPromise, within } from '../toolkit/deadline.js'
import { ResponseBudget } from './held-responses.js'
import { edited, type ListedItems, ListScanner } from './lists.js'
import { policyUnavailable } from './response.js'

/** The limit for the bytes of all responses together that are held until they are filtered. */
const HELD_BYTES = 64 * 1024 * 1024
/** How many bytes are read without a pause: well under a millisecond. */
const BYTES_AT_ONCE = 256 * 1024
const ITEMS_AT_ONCE = 1000
/** Policies take up to a quarter of a millisecond for 1,024 characters of a URI that an attacker made to be slow. */
const CHARACTERS_AT_ONCE = 16 * 1024
/** Milliseconds without a pause. */
const MAX_SLICE = 5
/** Used where targets have no time limit. */
const READ_TIMEOUT = 30_000
/** Milliseconds for the policies to decide about one message. */
const POLICY_TIMEOUT = 10_000

/**
 * Removes from lists in JSON-RPC messages the items that the scope's policies hide. A filtered list is for one caller,
 * so a result that allows caches to share it is changed to `private`.
 */
export class ListFilter {
  readonly budget = new ResponseBudget(HELD_BYTES)

  /** Milliseconds within which a caller has to read a part of a large response. */
  readonly readTimeout: number

  /** The target has to complete a held response within `timeout` milliseconds; 0 for no limit. */
  constructor(
    private readonly policies: readonly Policy[],
    readonly timeout: number,
    private readonly policyTimeout = POLICY_TIMEOUT,
  ) {
    this.readTimeout = timeout === 0 ? READ_TIMEOUT : timeout
  }

  /** Returns the same bytes when nothing has to be removed. Throws, or rejects, for text that is not JSON. */
  filter(message: Buffer, caller: PolicyCaller, isGone: () => boolean): Buffer | Promise<Buffer> {
    const scanner = new ListScanner(message)
    const isRead = message.length <= BYTES_AT_ONCE && scanner.read(BYTES_AT_ONCE)
    if (isRead && scanner.lists.length === 0 && scanner.publicScopes.length === 0) return message
    return this.filterSlowly(scanner, message, new ListReading(caller, isGone))
  }

  private async filterSlowly(scanner: ListScanner, message: Buffer, reading: ListReading): Promise<Buffer> {
    while (!scanner.read(BYTES_AT_ONCE)) await reading.pause()
    await reading.pause()
    const cuts: number[] = []
    const latest = performance.now() + this.policyTimeout
    for (const list of scanner.lists) list.cut(await this.shown(list, reading, latest), cuts)
    const { publicScopes } = scanner
    return cuts.length + publicScopes.length === 0 ? message : edited(message, cuts, publicScopes)
  }

  private async shown({ subjects }: ListedItems, reading: ListReading, latest: number): Promise<boolean[]> {
    const shown: boolean[] = []
    for (let start = 0; start < subjects.length; start = shown.length) {
      const part = subjects.slice(start, partEnd(subjects, start))
      const answers: (readonly boolean[])[] = []
      for (const policy of this.policies) answers.push(await ask(policy, reading.caller, part, latest))
      for (const index of part.keys()) shown.push(answers.every((answer) => answer[index]))
      await reading.pause()
    }
    return shown
  }
}

function partEnd(subjects: readonly ListedSubject[], start: number): number {
  let end = start
  let characters = 0
  while (end < subjects.length && end < start + ITEMS_AT_ONCE && characters < CHARACTERS_AT_ONCE)
    characters += subjects[end++]?.name.length ?? 0
  return end
}

/** Lets the event loop run from time to time, and ends when the caller has gone. */
class ListReading {
  private began = performance.now()

  constructor(
    readonly caller: PolicyCaller,
    private readonly isGone: () => boolean,
  ) {}

  async pause(): Promise<void> {
    if (this.isGone()) throw new Error('the caller is gone')
    if (performance.now() - this.began < MAX_SLICE) return
    await setImmediate()
    this.began = performance.now()
  }
}

async function ask(
  policy: Policy,
  caller: PolicyCaller,
  part: readonly ListedSubject[],
  latest: number,
): Promise<readonly boolean[]> {
  let answer: unknown
  try {
    const wait = latest - performance.now()
    if (wait <= 0) throw late()
    answer = policy.shows(caller, part)
    if (isPromise(answer)) answer = await within(wait, answer, late)
  } catch (error) {
    throw policyUnavailable(error)
  }
  if (isAnswer(answer, part.length)) return answer
  throw policyUnavailable(new TypeError(`expected ${part.length} booleans, one for each item`))
}

// `every` would skip the holes of an array.
const isAnswer = (answer: unknown, length: number): answer is readonly boolean[] =>
  Array.isArray(answer) &&
  answer.length === length &&
  answer.findIndex((shown) => typeof shown !== 'boolean') < 0

const late = (): Error => new Error('the policy did not answer in time')
