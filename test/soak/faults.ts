import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Calls } from './calls.js'
import { fullLog } from './full-log.js'
import { slowReader, slowWriter } from './slow.js'
import { SERVERS, type Stage } from './stage.js'
import { type HeldStreams, openStream } from './streams.js'
import type { Tally } from './tally.js'
import { upgradeAndLeave } from './upgrades.js'

export interface Scene {
  readonly stage: Stage
  readonly tally: Tally
  readonly calls: Calls
  readonly held: HeldStreams
}

type Fault = (scene: Scene, round: number) => Promise<void>

/** What happens, one after the other and over again. */
export const faults: Readonly<Record<string, Fault>> = {
  'streams and calls are broken off': brokenOff,
  'upgrades are refused, joined and abandoned': abandonedUpgrades,
  'the target is killed and comes back': ({ stage, tally }) => targetAway(stage, tally, 0),
  'the issuer signs with a new key': newKey,
  'slow clients, while the proxy reads its configuration again': slowClients,
  'the servers change': newServers,
  "the disk behind the proxy's log is full for a while": fullLog,
  'the target stays away for two seconds': ({ stage, tally }) => targetAway(stage, tally, 2_000),
  'the registry reads its configuration again': ({ stage }) => {
    process.kill(stage.registry.pid, 'SIGHUP')
    return pause(2_000)
  },
}

async function targetAway(stage: Stage, tally: Tally, away: number): Promise<void> {
  const back = tally.excuse('target')
  await stage.restartTarget(away)
  back()
}

/** The two keys before it stay good, as long as their tokens live. */
async function newKey({ stage: { issuer }, calls }: Scene, round: number): Promise<void> {
  await issuer.rotate(`round ${round}`)
  issuer.keys = issuer.keys.slice(-3)
  await calls.renewTokens()
}

/** Milliseconds after which a change of a file has been overlooked. */
const UNSEEN = 30_000

async function newServers({ stage, tally, calls }: Scene, round: number): Promise<void> {
  const edition = `edition ${round + 1}"`
  const began = Date.now()
  stage.writeServers(round + 1)
  const url = `http://127.0.0.1:${stage.registry.port}/registry/default/v0.1/servers?limit=1`
  for (;;) {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${calls.token}` } })
    if ((await answer.text()).includes(edition)) return tally.right('changes')
    if (Date.now() - began > UNSEEN)
      return tally.failed('changes', began, `${SERVERS} servers changed unseen`)
    await pause(100)
  }
}

/** A list that is replaced lets what is under way finish. */
async function slowClients({ stage: { proxy }, tally, calls }: Scene): Promise<void> {
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

/** Callers that go away at every point of a call. */
async function brokenOff({ stage, tally, calls, held }: Scene): Promise<void> {
  const { port } = stage.proxy
  for (let index = 0; index < 20; index++) {
    const stream = await openStream(port, calls.token)
    stream.on('error', () => {}).destroy()
    await halfRequest(port, calls.token)
  }
  await targetIsLeft('broken off', { stage, tally, calls, held })
}

/** Callers that ask for an upgrade and leave: before they are refused, from a WebSocket, and from a plain stream. */
async function abandonedUpgrades(scene: Scene): Promise<void> {
  const { stage, tally, calls } = scene
  for (let index = 0; index < 20; index++) {
    const began = Date.now()
    const answers = await Promise.all([
      upgradeAndLeave(stage.proxy.port, '/mcp'),
      upgradeAndLeave(stage.proxy.port, '/mcp?websocket', calls.token),
      upgradeAndLeave(stage.proxy.port, '/mcp', calls.token),
    ])
    if (answers.join() === '401,101,200') tally.right('upgrades')
    else tally.failed('upgrades', began, `they were answered with ${answers}`, ['target', 'reload'])
  }
  await targetIsLeft('left upgrades', scene)
}

/** The target must not be left with what nobody listens to any more. */
async function targetIsLeft(what: string, { stage, tally, held }: Scene): Promise<void> {
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

/** A request that promises a body and sends a part of it. */
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
