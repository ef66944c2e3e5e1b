import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { painter } from '../../colour.js'
import type { Io } from '../../io.js'
import { eventText, jsonText } from './event-text.js'
import { follow } from './follow.js'
import { type EventHandler, type Filter, LastLines, Selection } from './selection.js'
import { goBack, type Reading, readAll, type Source } from './source.js'

/** The bytes from the end that are read first, and the factor for the next try when they hold too few lines. */
const FIRST_LOOK = 256 * 1024
const GROWTH = 8

/** Lines on standard output, written many at once. `ended` aborts when the reader has closed the pipe. */
export class Output {
  private lines: string[] = []
  private readonly closed = new AbortController()
  readonly ended: AbortSignal = this.closed.signal

  constructor(private readonly stream: Writable) {
    stream.on('error', () => this.closed.abort())
  }

  print(line: string): void {
    this.lines.push(line, '\n')
  }

  readonly flush = async (): Promise<void> => {
    const text = this.lines.join('')
    this.lines = []
    if (text === '' || this.ended.aborted || this.stream.write(text)) return
    await once(this.stream, 'drain', { signal: this.ended }).catch(() => {})
  }
}

interface Task {
  readonly path: string
  readonly source: Source
  readonly filter: Filter
  /** The number of lines that are shown first; undefined for all. */
  readonly count: number | undefined
  readonly follow: boolean
  readonly json: boolean
  readonly output: Output
  readonly io: Io
  readonly signal: AbortSignal
}

/** Prints the matching events, and returns the number of lines without an event. */
export async function showLines(task: Task): Promise<number> {
  const { path, source, filter, count, output, io, signal } = task
  const print = printer(task)
  const selection = new Selection(filter, print)
  const reading: Reading = { onLine: selection.line, flush: output.flush, signal }
  let malformed = 0
  // A stream that is followed has no end, so no last lines either.
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

function printer({ json, output, io }: Task): EventHandler {
  const onTerminal = io.stdout.isTTY === true
  if (json) return ({ text }) => output.print(jsonText(text, onTerminal))
  const paint = painter(io.stdout, io.env)
  return ({ event }) => output.print(eventText(event, paint))
}

/** The last lines that match. Reads files from their end, no more than needed: an audit file may have gigabytes. */
async function lastOf(count: number, { source, filter, signal }: Task) {
  for (let look = FIRST_LOOK; ; look *= GROWTH) {
    const last = new LastLines(count)
    const selection = new Selection(filter, last.add)
    const isAll = 'stream' in source || goBack(source, look)
    await readAll(source, { onLine: selection.line, signal })
    if (last.full || isAll || signal.aborted) return { lines: last.lines(), malformed: selection.malformed }
  }
}

async function closed(source: Source): Promise<void> {
  if ('files' in source) for (const file of source.files) await file.close()
}
