import type { IncomingMessage } from 'node:http'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'

/** Three tools: arithmetic, dice, and the caller and credential as the server got them. */
export function addTools(server: McpServer, { headers }: IncomingMessage, callerHeader: string): void {
  server.registerTool(
    'add',
    { description: 'Adds two numbers.', inputSchema: { a: z.number(), b: z.number() } },
    ({ a, b }) => textResult(String(a + b)),
  )
  server.registerTool(
    'roll',
    { description: 'Rolls dice.', inputSchema: { dice: z.int().min(1).max(10).default(1) } },
    ({ dice }) => textResult(Array.from({ length: dice }, () => 1 + Math.floor(Math.random() * 6)).join(' ')),
  )
  server.registerTool(
    'whoami',
    {
      description:
        'Returns the caller that the gateway names, and the start of the credential that it sends.',
    },
    () => {
      const caller = headers[callerHeader.toLowerCase()] ?? 'nobody I know'
      const { authorization = 'no credential' } = headers
      return textResult(`You are ${String(caller)}. What reached me is ${authorization.slice(0, 24)}...`)
    },
  )
}

const textResult = (text: string) => ({ content: [{ type: 'text' as const, text }] })
