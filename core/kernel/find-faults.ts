import type { SettingPath } from '../contract/list.js'
import { isJsonObject } from '../toolkit/json-object.js'
import { valueIn, withoutFaults } from './without-faults.js'

/** One thing that a schema finds wrong with a value. */
export interface Fault {
  readonly path: SettingPath
  /** The key that was meant, when an unknown one was written. */
  readonly suggestion?: string
  /** The type that is expected there, in the schema's word. */
  readonly expected?: string | undefined
}

const URL_TEXT = 'https://unknown.invalid'
const WORD = 'unknown'

// Each value is accepted by most schemas of its type, one after the other; what a schema says about one is never reported.
const STAND_INS: Readonly<Record<string, readonly unknown[]>> = {
  string: [URL_TEXT, WORD],
  word: [WORD],
  object: [{}],
  record: [{}],
  array: [[]],
}

/** The place of a problem, where something is called by what took the place of a faulty name. */
export const withoutStandIn = (place: string): string => place.replace(LABELLED, ')')

const LABELLED = new RegExp(`:(?:${URL_TEXT}|${WORD})\\)$`)

/**
 * A schema stops at the first layer of faults. So each fault is replaced by a stand-in or removed, and the rest is
 * validated again, for a complete report. What is left is never booted: what was removed may be an access rule.
 */
export class FaultFinder {
  private readonly faulty: SettingPath[] = []
  private readonly stoodIn = new Map<string, number>()
  private writtenAt = (path: SettingPath): SettingPath => path

  constructor(private left: unknown) {}

  /** What is to be validated next. */
  get value(): unknown {
    return this.left
  }

  /** The path in the original value: in lists, items move up to the place of removed ones. */
  written(path: SettingPath): SettingPath {
    return this.writtenAt(path)
  }

  /** The fault that is reported already and holds everything at this path of the original value. */
  reported(path: SettingPath): SettingPath | undefined {
    return this.faulty.find((above) => isWithin(path, above))
  }

  /** Takes faults out of the value, and returns those that are no consequence of an earlier one, at their original paths. */
  take<F extends Fault>(faults: readonly F[]): readonly F[] {
    // A required key that was misspelt is one mistake, not an unknown key and a missing one.
    this.faulty.push(...faults.flatMap((fault) => this.misspelt(fault)))
    const found = faults.map((fault) => ({ ...fault, path: this.written(fault.path) }))
    const fresh = found.filter((_, index) => this.isFresh(faults[index]?.path ?? []))
    this.faulty.push(...found.map(({ path }) => path))
    this.remove(faults.filter((fault) => !this.standIn(fault)).map(({ path }) => path))
    return fresh
  }

  private remove(faulty: readonly SettingPath[]): void {
    const before = this.left
    // Nothing can take the place of a key that is missing, so what requires it is removed.
    const taken = faulty.map((path) =>
      path.length > 1 && valueAt(before, path) === undefined ? path.slice(0, -1) : path,
    )
    const toWritten = this.writtenAt
    this.faulty.push(...taken.map(toWritten))
    const rest = withoutFaults(before, taken)
    this.left = rest.value
    this.writtenAt = (path) => toWritten(rest.written(path))
  }

  private misspelt({ path, suggestion }: Fault): readonly SettingPath[] {
    if (suggestion === undefined) return []
    const meant = [...path.slice(0, -1), suggestion]
    return valueAt(this.left, meant) === undefined ? [this.written(meant)] : []
  }

  private isFresh(path: SettingPath): boolean {
    const at = this.written(path)
    if (this.reported(at) !== undefined) return false
    // A list is empty, and a rule about several keys is broken, only because something was removed.
    const here = valueAt(this.left, path)
    const mayLack = Array.isArray(here) ? here.length === 0 : isJsonObject(here)
    return !mayLack || !this.faulty.some((below) => isWithin(below, at))
  }

  /** Puts a value of the expected type there. Each at most once: the schema may want more than the type. */
  private standIn({ path, expected = textType(valueAt(this.left, path)) }: Fault): boolean {
    const key = JSON.stringify(this.written(path))
    const tried = this.stoodIn.get(key) ?? 0
    const values = Object.hasOwn(STAND_INS, expected) ? (STAND_INS[expected] ?? []) : []
    if (path.length === 0 || tried >= values.length) return false
    this.stoodIn.set(key, tried + 1)
    this.left = withValue(this.left, path, values[tried])
    return true
  }
}

/** Of a text: without a name or a URL others may be needed, and a missing one would be reported. */
function textType(value: unknown): string {
  if (typeof value !== 'string') return ''
  return URL.canParse(value) ? 'string' : 'word'
}

const isWithin = (path: SettingPath, above: SettingPath): boolean =>
  above.every((step, index) => path[index] === step)

/** The value at a path, or `undefined`. */
export const valueAt = (value: unknown, path: SettingPath): unknown => path.reduce<unknown>(valueIn, value)

function withValue(value: unknown, [step, ...rest]: SettingPath, leaf: unknown): unknown {
  if (step === undefined) return leaf
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (index === step ? withValue(item, rest, leaf) : item))
  return isJsonObject(value) ? { ...value, [step]: withValue(value[step], rest, leaf) } : value
}
