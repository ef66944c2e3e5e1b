import type { z } from 'zod'

/** A request that says something wrong: 400, and a sentence that names the parameter and never its value. */
export function wrongParameter(part: 'path' | 'query', name: string, message: string): Error {
  const error = new Error(`${part} parameter "${name}": ${message}`)
  // Fastify's own code for it, which the kernel knows as a sentence that may be told.
  return Object.assign(error, { statusCode: 400, code: 'FST_ERR_VALIDATION' })
}

/** Reads a part of the request with its schema; what comes out of the schema is what the handler sees. */
export function validatorFor(schema: z.ZodType, part: 'path' | 'query') {
  return (data: unknown) => {
    const read = schema.safeParse(data)
    if (read.success) return { value: read.data }
    const [issue] = read.error.issues
    return { error: wrongParameter(part, String(issue?.path[0] ?? ''), issue?.message ?? 'not well formed') }
  }
}
