import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Agent, request as ask } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { type StartedProgram, startedProgram } from '#kit/started-program.js'

/** A plugin whose routes tell which process answers, and which requests reached any of them. */
const TELLS = `
  import { appendFileSync } from 'node:fs'
  import { setTimeout } from 'node:timers/promises'
  import { definePlugin } from 'sallyport'
  export default definePlugin({
    name: 'tells',
    api: 1,
    setup(gateway) {
      const config = { public: true }
      gateway.http.get('/', { config }, async ({ query }) => {
        if (query.id !== undefined) appendFileSync(gateway.path('seen'), query.id + '\\n')
        await setTimeout(Number(query.ms ?? 0))
        return String(process.pid)
      })
    },
  })`

export interface Gateway extends StartedProgram {
  readonly url: string
  readonly internal: string
  readonly home: string
  /** Process ids by the number of their worker; the last that was ready with it. */
  readonly pids: () => ReadonlyMap<number, number>
  /** The process ID of a logged worker: a signal to a wrong number reaches other processes, and to 0 the whole group. */
  readonly pidOf: (worker: number) => number
  /** What this counter stands at, over all its labels. */
  readonly counted: (name: string) => Promise<number>
  readonly lines: (message: string) => readonly Record<string, unknown>[]
}

interface Wishes {
  readonly host?: string
  /** Further files beside its own. */
  readonly files?: Readonly<Record<string, string>>
  /** Further lines of its list. */
  readonly further?: string
}

/** A gateway whose two workers have logged that they are ready. */
export async function ofTwo(t: TestContext, { host, files, further }: Wishes = {}): Promise<Gateway> {
  const free = await closedPort()
  const internal = host === undefined ? free : free.replace('127.0.0.1', host)
  const list = listText(internal, further, host)
  const home = folder(t, { 'gateway.yaml': list, 'tells.mjs': TELLS, seen: '', ...files })
  const started = startedProgram(t, ['run', '--config', join(home, 'gateway.yaml'), '--workers', '2'], {
    // These are three processes.
    patience: 60,
    group: true,
  })
  const lines = (message: string) =>
    started.output.stderr
      .split('\n')
      .filter((line) => line.includes(`"msg":"${message}`))
      .map((line): Record<string, unknown> => JSON.parse(line))
  const counted = async (name: string): Promise<number> => {
    const text = await (await fetch(`${internal}/metrics`)).text()
    const samples = text
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    return samples.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
  const pids = () =>
    new Map(lines('a worker is ready').map(({ worker, pid }) => [Number(worker), Number(pid)]))
  const pidOf = (worker: number): number => pids().get(worker) ?? assert.fail(`no worker ${worker} was ready`)
  return { ...started, url: await started.ready(), internal, home, pids, pidOf, counted, lines }
}

export const listText = (internal: string, further = '', host = '127.0.0.1'): string => `
plugins:
  - { use: listen/http, with: { address: '${host}:0' } }
  - { use: internal/server, with: { address: '${internal.replace('http://', '')}' } }
  - { use: internal/metrics }
  - { use: ./tells.mjs }
${further}`

export interface Outcome {
  readonly id: string
  readonly status?: number
  readonly body?: string
  /** A connection was there when it failed. */
  readonly code?: string
}

/** One request: what came back, or how it failed. */
export function once(url: string, id: string, agent?: Agent): Promise<Outcome> {
  return new Promise((resolve) => {
    const sent = ask(url, { ...(agent !== undefined && { agent }) }, (response) => {
      let body = ''
      response.on('data', (chunk) => {
        body += String(chunk)
      })
      response.on('end', () => resolve({ id, status: response.statusCode ?? 0, body }))
      response.on('error', (error: NodeJS.ErrnoException) =>
        resolve({ id, code: error.code ?? error.message }),
      )
    })
    sent.setTimeout(30_000, () => sent.destroy(new Error('nobody answers')))
    sent.on('error', (error: NodeJS.ErrnoException) => resolve({ id, code: error.code ?? error.message }))
    sent.end()
  })
}

/** The same over a new connection, which any worker may accept. */
export const anew = (url: string, id: string): Promise<Outcome> => once(url, id, new Agent())

/** Callers that send requests again and again, each on a connection of its own, until `stop` is called. */
export function load(url: string, name: string, { callers = 8, keepAlive = true } = {}) {
  const agent = new Agent({ keepAlive, maxSockets: callers })
  const outcomes: Outcome[] = []
  let asked = 0
  let stopped = false
  const caller = async (): Promise<void> => {
    while (!stopped) {
      const id = `${name}-${asked++}`
      const outcome = await once(`${url}/?id=${id}&ms=${asked % 10}`, id, agent)
      outcomes.push(outcome)
      if (outcome.code === 'ECONNREFUSED') return
    }
  }
  const all = Promise.all(Array.from({ length: callers }, caller))
  return {
    outcomes,
    failed: () => outcomes.filter(({ status }) => status !== 200),
    /** Settles when `count` more requests have been answered. */
    more: async (count: number) => {
      const goal = outcomes.length + count
      await eventually(() => outcomes.length >= goal || undefined, 60)
    },
    stop: async () => {
      stopped = true
      await all
      agent.destroy()
    },
  }
}

/** The requests of such callers that a worker began to answer. */
export const reached = (home: string, name: string): readonly string[] =>
  readFileSync(join(home, 'seen'), 'utf8')
    .split('\n')
    .filter((id) => id.startsWith(`${name}-`))

/** Whether a process runs; a zombie does not count. */
export function lives(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
