import { BackgroundTask } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults } from '#kit/conformance.js'
import { deferred } from '#kit/deferred.js'
import { providing } from '#kit/plugin.js'

function task(more: object = {}) {
  const { promise: over, resolve: finish } = deferred()
  return { over, end: () => finish(), ...more }
}

const waiting = providing('waiting', BackgroundTask, task())

contractSuite('a task that waits for its end', () => ({ list: [waiting] }))

findsFaults(BackgroundTask, {
  'an end that is no promise': { code: 'TASK_MALFORMED', make: () => task({ over: true }) },
  'another promise each time': {
    code: 'TASK_MALFORMED',
    make: () => ({
      get over() {
        return Promise.resolve()
      },
      end: () => {},
    }),
  },
  'a task that goes on': { code: 'TASK_ENDLESS', make: () => task({ end: () => {} }) },
  'a task that ends once only': {
    code: 'TASK_ENDLESS',
    make() {
      const { over, end } = task()
      let times = 0
      return {
        over,
        end() {
          // The gateway itself ends it once more.
          if (++times === 2) throw new Error('it has ended')
          end()
        },
      }
    },
  },
  'a task whose `end` throws': {
    code: 'TASK_ENDLESS',
    make() {
      let fail: (error: Error) => void = () => {}
      const over = new Promise<void>((_resolve, reject) => {
        fail = reject
      })
      return { over, end: () => fail(new Error('interrupted')) }
    },
  },
})
