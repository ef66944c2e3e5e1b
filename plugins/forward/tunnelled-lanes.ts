import type { Agent, RequestOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ProxyTunnels } from 'sallyport'
import type { Lanes, Outgoing } from './lane.js'
import { QuickLane } from './quick-lane.js'
import type { Target } from './target.js'
import { WideLane } from './wide-lane.js'

interface TunnelledLanes extends Lanes {
  /** The proxy that they go through, without user and password. */
  readonly proxy: string
}

/** The lanes to a target that is reached through a proxy: they differ from the others in how a connection is opened. */
export function tunnelledLanes(target: Target, proxy: string, timeout: number): TunnelledLanes {
  const tunnels = new ProxyTunnels(proxy, { timeout })
  const to = new URL(target.origin)
  const quick = new QuickLane(target, (_options, opened) => void tunnels.open(to, opened))
  return { quick, wide: new TunnelledWideLane(target, tunnels, to), proxy: tunnels.origin }
}

const CALLER = Symbol('caller')

interface Asked extends RequestOptions {
  [CALLER]?: ServerResponse | undefined
}

class TunnelledWideLane extends WideLane {
  constructor(
    target: Target,
    private readonly tunnels: ProxyTunnels,
    private readonly to: URL,
  ) {
    super(target, 0)
    this.agent.createConnection = this.connect
  }

  override close(): void {
    super.close()
    this.tunnels.close()
  }

  protected override optionsOf(outgoing: Outgoing): Asked {
    return { ...super.optionsOf(outgoing), [CALLER]: outgoing.reply.raw }
  }

  // A request that is given up before it has a socket cannot take its connection along by itself.
  private readonly connect: Agent['createConnection'] = (asked: Asked, created) => {
    const { [CALLER]: caller } = asked
    // The agent keeps the options for as long as the connection lives.
    asked[CALLER] = undefined
    const giveUp = this.tunnels.open(this.to, (error, socket) => {
      caller?.off('close', giveUp)
      // The types want a socket beside an error too.
      created?.(error, socket as Socket)
    })
    caller?.once('close', giveUp)
    return undefined
  }
}
