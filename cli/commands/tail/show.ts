import { painter } from '../../colour.js'
import type { Io } from '../../io.js'
import { eventText, jsonText } from './event-text.js'
import type { Filter } from './filter.js'
import { follow } from './follow.js'
import type { Reading } from './open-file.js'
import type { Output } from './output.js'
import { LastLines, Selection, type TakeEvent } from './selection.js'
import { goBack, readAll, type Source } from './source.js'
import { Summary } from './summary.js'
import { summaryObject, summaryText } from './summary-text.js'

/** Bytes from the end that are looked at first, and how many times more each time when these hold too few. */
const FIRST_LOOK = 256 * 1024
const GROWTH = 8

interface Task {
  readonly path: string
  readonly source: Source
  readonly filter: Filter
  /** Lines that are shown first; all without one. */
  readonly count: number | undefined
  readonly follow: boolean
  readonly json: boolean
  readonly output: Output
  readonly io: Io
  readonly signal: AbortSignal
}

/** Prints what matches, and returns how many lines held no event. */
export async function showLines(task: Task): Promise<number> {
  const { path, source, filter, count, output, io, signal } = task
  const print = printer(task)
  const selection = new Selection(filter, print)
  const reading: Reading = { take: selection.line, flush: output.flush, signal }
  let malformed = 0
  // What follows on a stream has no beginning that could be waited for.
  if (count === undefined || ('stream' in source && task.follow)) await readAll(source, reading)
  else {
    const last = await lastOf(count, task)
    for (const line of last.lines) print(line)
    malformed = last.malformed
  }
  await output.flush()
  if ('files' in source && task.follow) await follow(path, source.files, reading, io)
  else await closed(source)
  return malformed + selection.malformed
}

/** Prints a summary of what matches, and returns how many lines held no event. */
export async function sumUp({ source, filter, json, output, io, signal }: Task): Promise<number> {
  const summary = new Summary()
  const selection = new Selection(filter, ({ event }) => summary.add(event))
  await readAll(source, { take: selection.line, signal })
  await closed(source)
  const paint = painter(io.stdout, io.env)
  const object = (): string => jsonText(JSON.stringify(summaryObject(summary)), io.stdout.isTTY === true)
  output.print(json ? object() : summaryText(summary, paint))
  return selection.malformed
}

function printer({ json, output, io }: Task): TakeEvent {
  const onTerminal = io.stdout.isTTY === true
  if (json) return ({ text }) => output.print(jsonText(text, onTerminal))
  const paint = painter(io.stdout, io.env)
  return ({ event }) => output.print(eventText(event, paint))
}

/** The last lines that match. Files are read from their end, as far as it takes: an audit file may have gigabytes. */
async function lastOf(count: number, { source, filter, signal }: Task) {
  for (let look = FIRST_LOOK; ; look *= GROWTH) {
    const last = new LastLines(count)
    const selection = new Selection(filter, last.add)
    const isAll = 'stream' in source || goBack(source, look)
    await readAll(source, { take: selection.line, signal })
    if (last.full || isAll || signal.aborted) return { lines: last.lines(), malformed: selection.malformed }
  }
}

async function closed(source: Source): Promise<void> {
  if ('files' in source) for (const file of source.files) await file.close()
}
