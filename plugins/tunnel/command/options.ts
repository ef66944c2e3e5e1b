import { z } from 'zod'
import { publicOrigin } from '../public-url.js'
import { groupsOf } from './pattern.js'

export const options = z
  .strictObject({
    command: z
      .array(z.string())
      .min(1, 'expected a program and its arguments, such as cloudflared tunnel --url {url}')
      .describe('the program and its arguments; `{host}`, `{port}` and `{url}` stand for the main port'),
    pattern: z
      .string()
      .optional()
      .describe(
        'regular expression for the line that shows that the tunnel is open, with one group for the public URL; by default the first https URL without a path',
      ),
    publicUrl: z
      .string()
      .optional()
      .describe(
        'the public URL, if it is known beforehand; then `pattern` only finds when the tunnel is open',
      ),
  })
  .superRefine(({ command, pattern, publicUrl }, context) => {
    const addIssue = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message })
    if (command[0] === '') addIssue('command', 'expected a program and its arguments')
    if (command.some((word) => word.includes('\0'))) addIssue('command', 'expected words without NUL')
    const groups = pattern === undefined ? undefined : groupsOf(pattern)
    if (pattern !== undefined && groups === undefined) addIssue('pattern', 'expected a regular expression')
    if (publicUrl === undefined) {
      if (groups !== undefined && groups !== 1)
        addIssue('pattern', `expected one group, for the URL; there are ${groups}`)
      return
    }
    const checked = publicOrigin(publicUrl)
    if ('fault' in checked) addIssue('publicUrl', checked.fault)
    if (pattern === undefined) {
      addIssue('pattern', 'is needed with a public URL: it finds the line that shows that the tunnel is open')
    }
  })
