import { BackgroundTask } from '../contract/capabilities/background-task.js'
import { within } from '../toolkit/deadline.js'
import { type ConformanceSuite, messageOf } from './requirement.js'

export const backgroundTaskConformance: ConformanceSuite<BackgroundTask> = {
  capability: BackgroundTask,
  requirements: [
    {
      code: 'TASK_MALFORMED',
      statement: 'has a promise that settles when it is over',
      advice: 'set `over` to one promise: the gateway reads it once and stops when it settles',
      check(task) {
        const { over } = task
        if (!(over instanceof Promise)) return '`over` is no promise'
        return task.over === over ? undefined : '`over` is another promise each time'
      },
    },
    {
      code: 'TASK_ENDLESS',
      statement: 'is over soon after it was asked to end, perhaps twice',
      advice: 'take up nothing new, finish or abort what is open, and settle `over`',
      async check(task, { timeout }) {
        task.end()
        task.end()
        try {
          const late = (): Error => new Error(`${timeout / 1000} s after it was asked to end it is not over`)
          await within(timeout, Promise.resolve(task.over), late)
          return undefined
        } catch (error) {
          return messageOf(error)
        }
      },
    },
  ],
}
