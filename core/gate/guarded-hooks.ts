import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { isPromise } from '../toolkit/deadline.js'

type Done = (error?: Error | null, payload?: unknown) => void
type OnSend = (
  this: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: Done,
) => unknown
type OnClose = (this: FastifyInstance, instance: FastifyInstance, done: () => void) => unknown

/**
 * Wraps two hooks of plugins whose errors Fastify passes to no error handler. It would send the caller the message of
 * an `onSend` that throws twice, and an `onClose` that throws would end the process while its list is half stopped.
 */
export function guardHooks(app: FastifyInstance, log: Logger): void {
  const add = Reflect.get(app, 'addHook') as (
    this: FastifyInstance,
    name: string,
    hook: unknown,
  ) => FastifyInstance
  const guarded = function (this: FastifyInstance, name: string, hook: unknown): FastifyInstance {
    if (typeof hook !== 'function') return add.call(this, name, hook)
    if (name === 'onSend') return add.call(this, name, withHiddenErrors(hook as OnSend))
    if (name === 'onClose') return add.call(this, name, withLoggedErrors(hook as OnClose, log))
    return add.call(this, name, hook)
  }
  Object.assign(app, { addHook: guarded })
  app.addHook('onRoute', (route) => {
    const hooks = [route.onSend ?? []].flat() as OnSend[]
    if (hooks.length > 0) route.onSend = hooks.map(withHiddenErrors) as never
  })
}

const withHiddenErrors = (hook: OnSend): OnSend =>
  function (request, reply, payload, done) {
    const fail = (cause: unknown): void => done(new Error('an onSend hook failed', { cause }))
    try {
      const answer = hook.call(this, request, reply, payload, (error, changed) =>
        error === undefined || error === null ? done(null, changed) : fail(error),
      )
      if (isPromise(answer)) answer.then((changed) => done(null, changed), fail)
    } catch (error) {
      fail(error)
    }
  }

const withLoggedErrors = (hook: OnClose, log: Logger): OnClose =>
  function (instance, done) {
    const end = (error?: unknown): void => {
      if (error !== undefined && error !== null) log.error({ err: error }, 'an onClose hook failed')
      done()
    }
    try {
      // A hook with one argument returns a promise, or is done when it returns.
      const answer = hook.call(this, instance, end)
      if (isPromise(answer)) answer.then(() => end(), end)
      else if (hook.length < 2) end()
    } catch (error) {
      end(error)
    }
  }
