import { type Log, proxyChoice } from 'sallyport'
import type { Lanes } from './lane.js'
import { QuickLane } from './quick-lane.js'
import type { Target } from './target.js'
import { tunnelledLanes } from './tunnelled-lanes.js'
import { WideLane } from './wide-lane.js'

/** Milliseconds for a connection to be there. */
const CONNECT_TIMEOUT = 10_000

/** The lanes to a target: straight there, or through the proxy that the environment names for it. */
export function lanesTo(target: Target, log: Log): Lanes {
  const proxy = proxyChoice(process.env)(new URL(target.origin))
  if (proxy !== undefined) {
    const lanes = tunnelledLanes(target, proxy, CONNECT_TIMEOUT)
    log.info({ target: target.origin, proxy: lanes.proxy }, 'the target is reached through a proxy')
    return lanes
  }
  return {
    quick: new QuickLane(target, { timeout: CONNECT_TIMEOUT }),
    wide: new WideLane(target, CONNECT_TIMEOUT),
  }
}
