import { Guard } from '../contract/capabilities/guard.js'
import { Refusal } from '../contract/errors.js'
import {
  type ConformanceSuite,
  firstFaultyRequest,
  leavesRequestUnchanged,
  messageOf,
} from './requirement.js'

export const guardConformance: ConformanceSuite<Guard> = {
  capability: Guard,
  requirements: [
    {
      code: 'GUARD_THROWS',
      statement: 'lets every request pass or refuses it, whatever it looks like',
      advice:
        'a guard returns to let a request pass, or throws a Refusal; any other error shuts everybody out',
      check: (guard, context) =>
        firstFaultyRequest(context, async (request) => {
          try {
            await guard(request)
            return undefined
          } catch (error) {
            if (error instanceof Refusal) return undefined
            return `on ${request.method} ${request.url.slice(0, 40)} it throws: ${messageOf(error)}`
          }
        }),
    },
    leavesRequestUnchanged((guard, request) => guard(request)),
  ],
}
