import { z } from 'zod'
import { publicOrigin } from '../public-url.js'
import { groupsOf } from './pattern.js'

export const options = z
  .strictObject({
    command: z
      .array(z.string())
      .min(1, 'expected a program and its arguments')
      .describe('the program and its arguments; `{host}`, `{port}` and `{url}` stand for the main port'),
    pattern: z
      .string()
      .optional()
      .describe(
        'regular expression for the line that says that the tunnel is open, with one group for the public URL; the first https URL without a path, unless given',
      ),
    publicUrl: z
      .string()
      .optional()
      .describe(
        'the public URL, where it is known beforehand; then `pattern` only says when the tunnel is open',
      ),
  })
  .superRefine(({ command, pattern, publicUrl }, context) => {
    const complain = (path: string, message: string): void =>
      void context.issues.push({ code: 'custom', input: undefined, path: [path], message, continue: true })
    if (command[0] === '') complain('command', 'expected a program and its arguments')
    if (command.some((word) => word.includes('\0'))) complain('command', 'expected words without NUL')
    const groups = pattern === undefined ? undefined : groupsOf(pattern)
    if (pattern !== undefined && groups === undefined) complain('pattern', 'expected a regular expression')
    if (publicUrl === undefined) {
      if (groups !== undefined && groups !== 1)
        complain('pattern', `expected one group, for the URL; there are ${groups}`)
      return
    }
    const judged = publicOrigin(publicUrl)
    if ('fault' in judged) complain('publicUrl', judged.fault)
    if (pattern === undefined) {
      complain('pattern', 'is needed with a public URL: it finds the line that says that the tunnel is open')
    }
  })
