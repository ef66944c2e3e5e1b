import { setTimeout } from 'node:timers/promises'
import type { McpServer, ServerNotifier } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { PNG, said, WAV, words } from './samples.js'

const NOTHING = z.object({})
const PAUSE = 50

/** Tools that answer at once, each with its own kind of content. */
export function contentTools(server: McpServer): void {
  const image = { type: 'image' as const, data: PNG, mimeType: 'image/png' }
  const audio = { type: 'audio' as const, data: WAV, mimeType: 'audio/wav' }
  const resource = (uri: string, mimeType: string, text: string) => ({
    type: 'resource' as const,
    resource: { uri, mimeType, text },
  })
  const contents = {
    test_simple_text: [words('This is a simple text response for testing.')],
    test_image_content: [image],
    test_audio_content: [audio],
    test_embedded_resource: [
      resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
    ],
    test_multiple_content_types: [
      words('Multiple content types test:'),
      image,
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }
  for (const [name, content] of Object.entries(contents)) {
    server.registerTool(name, { description: `Answers with ${name}` }, () => ({ content }))
  }
  server.registerTool('test_error_handling', { description: 'Fails' }, () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
}

/** Tools that send notifications before they answer. */
export function notifyingTools(server: McpServer): void {
  for (const name of ['test_tool_with_logging', 'test_logging_tool']) {
    server.registerTool(name, { description: 'Logs', inputSchema: NOTHING }, async (_given, { mcpReq }) => {
      for (const step of ['started', 'processing data', 'completed']) {
        await mcpReq.log('info', `Tool execution ${step}`)
        await setTimeout(PAUSE)
      }
      return said('logged')
    })
  }
  for (const name of ['test_tool_with_progress', 'test_streaming_elicitation']) {
    server.registerTool(
      name,
      { description: 'Reports progress', inputSchema: NOTHING },
      async (_given, { mcpReq }) => {
        const { progressToken } = mcpReq._meta ?? {}
        for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
          await mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken, progress, total: 100 },
          })
          await setTimeout(PAUSE)
        }
        return said('done')
      },
    )
  }
}

/** Tools that notify listeners of changed lists. */
export function changingTools(server: McpServer, notify: ServerNotifier): void {
  server.registerTool('test_trigger_tool_change', { description: 'Changes the tools' }, () => {
    notify.toolsChanged()
    return said('changed')
  })
  server.registerTool('test_trigger_prompt_change', { description: 'Changes the prompts' }, () => {
    notify.promptsChanged()
    return said('changed')
  })
}
