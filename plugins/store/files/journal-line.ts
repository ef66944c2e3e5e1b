import { hash } from 'node:crypto'
import { z } from 'zod'

const state = z.strictObject({
  status: z.enum(['active', 'deprecated', 'deleted']),
  statusMessage: z.string().optional(),
})

const event = z.strictObject({
  name: z.string(),
  version: z.string(),
  at: z.iso.datetime(),
  action: z.enum(['publish', 'status', 'purge']),
  actor: z.strictObject({ provider: z.string(), subject: z.string() }),
  before: state.optional(),
  after: state,
})

/** The first line of a journal. */
const heading = z.strictObject({ format: z.literal(1), source: z.string() })

/** A change: what happens at once, to one version or to all of a name. */
const change = z.strictObject({
  /** Of the changes of this journal, from 1. */
  number: z.int().positive(),
  events: z.array(event).min(1),
  /** Of what is published: its JSON, as text. */
  server: z.string().optional(),
})

export type JournalHeading = z.output<typeof heading>
export type JournalChange = z.output<typeof change>

export const parseHeading = (line: Buffer): JournalHeading | undefined => parsed(heading, line)
export const parseChange = (line: Buffer): JournalChange | undefined => parsed(change, line)

const KEY = ',"sha256":"'
const END = '"}\n'
const TAIL = KEY.length + 64 + END.length

/** One line of JSON, whose last member is the checksum of all that stands before it. */
export function lineOf(value: JournalHeading | JournalChange): Buffer {
  const body = Buffer.from(JSON.stringify(value).slice(0, -1))
  return Buffer.concat([body, Buffer.from(`${KEY}${checksum(body)}${END}`)])
}

/** Undefined when the line is not as it was written. It ends with its line break. */
function parsed<T>(schema: z.ZodType<T>, line: Buffer): T | undefined {
  const body = line.subarray(0, Math.max(0, line.length - TAIL))
  if (line.toString('latin1', body.length) !== `${KEY}${checksum(body)}${END}`) return undefined
  try {
    const { sha256: _, ...value } = JSON.parse(line.toString('utf8'))
    return schema.safeParse(value).data
  } catch {
    return undefined
  }
}

const checksum = (bytes: Buffer): string => hash('sha256', bytes)
