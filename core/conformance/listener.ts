import { Listener } from '../contract/capabilities/listener.js'
import { LONGEST_WAIT } from '../toolkit/duration.js'
import { parseHostPort } from '../toolkit/host-port.js'
import { type ConformanceSuite, firstFault } from './requirement.js'

const isPositive = (value: number | undefined): boolean =>
  value === undefined || (Number.isInteger(value) && value > 0)

export const listenerConformance: ConformanceSuite<Listener> = {
  capability: Listener,
  requirements: [
    {
      code: 'LISTENER_MALFORMED',
      statement: 'names the main or the internal port, and an address',
      advice: "provide { port: 'main', address } with HOST:PORT or [V6]:PORT, port 0 for any free one",
      check({ port, address }) {
        if (port !== 'main' && port !== 'internal') return `its port is neither main nor internal: ${port}`
        return typeof address === 'string' && parseHostPort(address) !== undefined
          ? undefined
          : `its address is not HOST:PORT: ${address}`
      },
    },
    {
      code: 'LISTENER_LIMITS',
      statement:
        'limits connections and times by positive whole numbers, or not at all; its drain delay may be 0',
      advice: 'leave a limit out for the default: 0 refuses every connection, or waits for ever',
      check({ maxConnections, headersTimeout, keepAliveTimeout, drainDelay }) {
        const limits = {
          maxConnections,
          headersTimeout,
          keepAliveTimeout,
          drainDelay: drainDelay === 0 ? undefined : drainDelay,
        }
        return firstFault(Object.entries(limits), ([name, value]) =>
          isPositive(value) && (value ?? 0) <= LONGEST_WAIT ? undefined : `\`${name}\` is ${value}`,
        )
      },
    },
  ],
}
