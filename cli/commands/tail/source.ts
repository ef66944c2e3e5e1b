import type { Readable } from 'node:stream'
import type { Problem } from 'sallyport'
import { fileFailure, LineSplitter } from 'sallyport/toolkit'
import { LONGEST_LINE, type OpenFile, openNewer, type Reading } from './open-file.js'

interface Asked {
  readonly path: string
  readonly rotated: boolean
  readonly follow: boolean
  readonly stdin: Readable
}

/** Files that follow each other. */
export interface Files {
  readonly files: readonly OpenFile[]
  /** So many of them, the last ones, may grow: what follows their last line feed is no line yet. */
  readonly growing: number
}

/** Where the lines come from. */
export type Source = { readonly stream: Readable } | Files

/** Opens what is to be read. Of files that are followed, the one before the last rotation is open too. */
export async function openSource({
  path,
  rotated,
  follow,
  stdin,
}: Asked): Promise<Source | { readonly problem: Problem }> {
  if (path === '-') return { stream: stdin }
  try {
    const files = await openNewer(path, [], rotated ? undefined : Number(follow))
    const current = files.at(-1)
    if (!follow && current?.path !== path) throw Object.assign(new Error(path), { code: 'ENOENT' })
    if (current?.isRegular === false) return { stream: current.stream() }
    for (const file of files) if (!rotated && file.path !== path) file.beginAt(file.size)
    return { files, growing: follow ? 2 : 0 }
  } catch (error) {
    const { cause = error } = error instanceof Error ? error : {}
    return { problem: { place: path, message: fileFailure(cause) } }
  }
}

/** Reads a stream to its end. */
async function readStream(stream: Readable, { take, flush, signal }: Reading): Promise<void> {
  const splitter = new LineSplitter(LONGEST_LINE)
  const stop = (): void => void stream.destroy()
  signal.addEventListener('abort', stop, { once: true })
  try {
    for await (const chunk of stream) {
      for (const line of splitter.split(chunk)) take(line)
      await flush?.()
      if (signal.aborted) break
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
  if (!signal.aborted) for (const line of splitter.remainder()) take(line)
}

/** Reads each file to where it ended when it was opened. */
async function readFiles({ files, growing }: Files, reading: Reading): Promise<void> {
  for (const [index, file] of files.entries()) {
    await file.readOn(reading, file.size)
    if (index < files.length - growing && !reading.signal.aborted) file.finish(reading.take)
  }
}

export const readAll = (source: Source, reading: Reading): Promise<void> =>
  'stream' in source ? readStream(source.stream, reading) : readFiles(source, reading)

/** Lets the next reading begin so many bytes before the end. Returns whether that is all there is. */
export function goBack({ files }: Files, bytes: number): boolean {
  let behind = 0
  for (const file of files.toReversed()) {
    const own = file.size - file.begin
    file.goTo(file.begin + Math.min(own, Math.max(0, own + behind - bytes)))
    behind += own
  }
  return bytes >= behind
}
