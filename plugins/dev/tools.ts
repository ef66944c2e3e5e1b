import type { IncomingMessage } from 'node:http'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'

/** Three tools: one that computes, one that chances, and one that tells what reached the server. */
export function addTools(server: McpServer, { headers }: IncomingMessage, callerHeader: string): void {
  server.registerTool(
    'add',
    { description: 'Adds two numbers.', inputSchema: { a: z.number(), b: z.number() } },
    ({ a, b }) => said(String(a + b)),
  )
  server.registerTool(
    'roll',
    { description: 'Rolls dice.', inputSchema: { dice: z.int().min(1).max(10).default(1) } },
    ({ dice }) => said(Array.from({ length: dice }, () => 1 + Math.floor(Math.random() * 6)).join(' ')),
  )
  server.registerTool(
    'whoami',
    { description: 'Tells who calls, as the gateway says, and which credential came with it.' },
    () => {
      const caller = headers[callerHeader.toLowerCase()] ?? 'nobody I know'
      const { authorization = 'no credential' } = headers
      return said(`You are ${String(caller)}. What reached me is ${authorization.slice(0, 24)}...`)
    },
  )
}

const said = (text: string) => ({ content: [{ type: 'text' as const, text }] })
