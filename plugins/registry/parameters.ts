import type { FastifySchemaValidationError } from 'fastify'
import type { z } from 'zod'

/** A request that says something wrong: 400, and a sentence that names the parameter and never its value. */
export function wrongParameter(part: string, name: string, message: string): Error {
  const validation: FastifySchemaValidationError[] = [
    { keyword: 'schema', instancePath: `/${name}`, schemaPath: '', params: {}, message },
  ]
  const where = part === 'params' ? 'path' : 'query'
  return Object.assign(new Error(`${where} parameter "${name}": ${message}`), { statusCode: 400, validation })
}

/** Reads a part of the request with its schema; what comes out of the schema is what the handler sees. */
export function validatorFor(schema: z.ZodType, part: string) {
  return (data: unknown) => {
    const read = schema.safeParse(data)
    if (read.success) return { value: read.data }
    const [issue] = read.error.issues
    return { error: wrongParameter(part, String(issue?.path[0] ?? ''), issue?.message ?? 'not well formed') }
  }
}
