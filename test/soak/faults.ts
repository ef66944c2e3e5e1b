import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Calls } from './calls.js'
import { fullLog } from './full-log.js'
import { slowReader, slowWriter } from './slow.js'
import { SERVERS, type Stage } from './stage.js'
import { type HeldStreams, openStream } from './streams.js'
import type { Tally } from './tally.js'
import { upgradeAndLeave } from './upgrades.js'

export interface SoakContext {
  readonly stage: Stage
  readonly tally: Tally
  readonly calls: Calls
  readonly held: HeldStreams
}

type Fault = (context: SoakContext, round: number) => Promise<void>

/** The faults, in their order; the soak repeats them. */
export const faults: Readonly<Record<string, Fault>> = {
  'callers break off streams and calls': brokenOff,
  'callers abandon refused and accepted upgrades': abandonedUpgrades,
  'the target is killed and comes back': ({ stage, tally }) => targetAway(stage, tally, 0),
  'the issuer signs with a new key': newKey,
  'slow clients, while the proxy reads its configuration again': slowClients,
  'the servers change': newServers,
  "the disk behind the proxy's log is full for a while": fullLog,
  'the target is gone for two seconds': ({ stage, tally }) => targetAway(stage, tally, 2_000),
  'the registry reads its configuration again': ({ stage }) => {
    process.kill(stage.registry.pid, 'SIGHUP')
    return pause(2_000)
  },
}

async function targetAway(stage: Stage, tally: Tally, milliseconds: number): Promise<void> {
  const back = tally.excuse('target')
  await stage.restartTarget(milliseconds)
  back()
}

/** Signs with a new key. The two keys before it stay published while their tokens are valid. */
async function newKey({ stage: { issuer }, calls }: SoakContext, round: number): Promise<void> {
  await issuer.rotate(`round ${round}`)
  issuer.keys = issuer.keys.slice(-3)
  await calls.renewTokens()
}

/** Milliseconds in which the registry must serve a changed file. */
const CHANGE_TIMEOUT = 30_000

async function newServers({ stage, tally, calls }: SoakContext, round: number): Promise<void> {
  const edition = `edition ${round + 1}"`
  const began = Date.now()
  stage.writeServers(round + 1)
  const url = `http://127.0.0.1:${stage.registry.port}/registry/default/v0.1/servers?limit=1`
  for (;;) {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${calls.token}` } })
    if ((await answer.text()).includes(edition)) return tally.right('changes')
    if (Date.now() - began > CHANGE_TIMEOUT)
      return tally.failed('changes', began, `the registry did not serve a change of ${SERVERS} servers`)
    await pause(100)
  }
}

/** Reloads the proxy during slow requests, which the replaced plugin list must finish. */
async function slowClients({ stage: { proxy }, tally, calls }: SoakContext): Promise<void> {
  const { token } = calls
  const clients = Array.from({ length: 10 }, async (_, index) => {
    const began = Date.now()
    try {
      await (index % 2 === 0 ? slowWriter(proxy.port, token) : slowReader(proxy.port, token))
      tally.right('slow')
    } catch (error) {
      tally.failed('slow', began, String(error))
    }
  })
  await pause(500)
  const settled = tally.excuse('reload')
  process.kill(proxy.pid, 'SIGHUP')
  await Promise.all(clients)
  settled()
}

/** Callers that disconnect in the middle of a stream and of a request body. */
async function brokenOff({ stage, tally, calls, held }: SoakContext): Promise<void> {
  const { port } = stage.proxy
  for (let index = 0; index < 20; index++) {
    const stream = await openStream(port, calls.token)
    stream.on('error', () => {}).destroy()
    await halfRequest(port, calls.token)
  }
  await noStreamLeft('broken off', { stage, tally, calls, held })
}

/** Callers that request an upgrade and disconnect: from a refusal, from a WebSocket, and from a plain stream. */
async function abandonedUpgrades(context: SoakContext): Promise<void> {
  const { stage, tally, calls } = context
  for (let index = 0; index < 20; index++) {
    const began = Date.now()
    const answers = await Promise.all([
      upgradeAndLeave(stage.proxy.port, '/mcp'),
      upgradeAndLeave(stage.proxy.port, '/mcp?websocket', calls.token),
      upgradeAndLeave(stage.proxy.port, '/mcp', calls.token),
    ])
    if (answers.join() === '401,101,200') tally.right('upgrades')
    else tally.failed('upgrades', began, `upgrades were answered with ${answers}`, ['target', 'reload'])
  }
  await noStreamLeft('left upgrades', context)
}

/** Checks that the target has no open stream without a caller. */
async function noStreamLeft(what: string, { stage, tally, held }: SoakContext): Promise<void> {
  const began = Date.now()
  const end = Date.now() + 5_000
  let open = Number.NaN
  while (Date.now() < end) {
    open = await openAtTarget(stage)
    if (open <= held.count) return tally.right(what)
    await pause(100)
  }
  tally.failed(what, began, `the target has ${open} streams open, and callers hold ${held.count}`)
}

/** Sends a request with only a part of its body, and disconnects. */
function halfRequest(port: number, token: string): Promise<void> {
  const lines = [
    'POST /mcp HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${token}`,
    'content-length: 100000',
  ]
  const socket = connect({ host: '127.0.0.1', port })
  return new Promise((resolve) => {
    socket.on('error', () => {}).on('close', () => resolve())
    socket.write(`${lines.join('\r\n')}\r\n\r\n${'x'.repeat(1_000)}`, () => socket.destroy())
  })
}

async function openAtTarget(stage: Stage): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${stage.target().port}/mcp?streams`)
  return Number(await answer.text())
}
