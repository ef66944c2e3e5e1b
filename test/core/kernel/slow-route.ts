import { deferred } from '#kit/deferred.js'
import { plugin } from '#kit/plugin.js'

/** A public route at `/slow` whose response waits for a call. */
export function slowRoute() {
  const { promise: arrival, resolve: arrive } = deferred()
  const { promise: answer, resolve: finish } = deferred<string>()
  const entry = plugin('slow', ({ http }) =>
    http.get('/slow', { config: { public: true } }, () => {
      arrive()
      return answer
    }),
  )
  return { entry, arrival, finish }
}
