import type { z } from 'zod'

/** A 400 that names the parameter and never its value. */
export function wrongParameter(part: 'path' | 'query', name: string, message: string): Error {
  const error = new Error(`${part} parameter "${name}": ${message}`)
  // Fastify's own code for it: the kernel passes the message of such an error on to the caller.
  return Object.assign(error, { statusCode: 400, code: 'FST_ERR_VALIDATION' })
}

/** Validates a part of the request; the handler gets the output of the schema. */
export function validatorFor(schema: z.ZodType, part: 'path' | 'query') {
  return (data: unknown) => {
    const read = schema.safeParse(data)
    if (read.success) return { value: read.data }
    const [issue] = read.error.issues
    return { error: wrongParameter(part, String(issue?.path[0] ?? ''), issue?.message ?? 'invalid') }
  }
}
