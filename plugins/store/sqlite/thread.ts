import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { catalogueTables } from './catalogue-tables.js'
import { type Failure, failureOf } from './failure.js'
import { publishedTables } from './published-tables.js'
import { type Outcome, type Request, ServedDatabase } from './served-database.js'
import { stateTables } from './state-tables.js'

const TABLES = { state: stateTables, catalogue: catalogueTables, published: publishedTables } as const

/** The calls of each kind, for the calling thread. */
export type Served = {
  [Kind in keyof typeof TABLES]: ReturnType<(typeof TABLES)[Kind]['prepare']>
}

export interface ThreadData {
  readonly path: string
  readonly kind: keyof typeof TABLES
}

/** `id` 0: the result of opening the database. */
export interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly failure?: Failure
}

const { path, kind } = workerData as ThreadData
const database = new ServedDatabase(path, TABLES[kind])
const port = parentPort

function answer(id: number, outcome: Outcome): void {
  const isFailed = 'error' in outcome
  port?.postMessage(
    (isFailed ? { id, failure: failureOf(outcome.error) } : { id, result: outcome.result }) satisfies Answer,
  )
}

// Undefined marks the end.
port?.on('message', (first: Request | undefined) => {
  const requests = [first]
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
    requests.push(next.message)
  database.run(
    requests.filter((request) => request !== undefined),
    answer,
  )
  if (!requests.includes(undefined)) return
  database.close()
  port.close()
})

try {
  database.open()
  answer(0, { result: undefined })
} catch (error) {
  answer(0, { error })
}
